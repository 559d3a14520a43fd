"""The words of a report, each in a sentence or two."""

TERMS = (
    (
        "Choice",
        "One person, two things, and the one that they preferred. Everything here is learnt from "
        "choices alone.",
    ),
    (
        "Taste",
        "A ranking that many people share in part, with how firmly it is followed. Nobody was "
        "asked about tastes: they are the "
        "few rankings that together explain everybody's choices best.",
    ),
    ("Share of a taste", "How much of all choices a taste is behind, over all people."),
    (
        "Mixture",
        "How much of each taste one person follows. Someone with 70 % of taste 1 and 30 % of "
        "taste 2 chooses by the first "
        "seven times in ten.",
    ),
    (
        "Interval",
        "A range that should hold the truth nine times in ten. It is found by counting some "
        "people more and others less, "
        "many times over, and looking at how far the answer moves.",
    ),
    (
        "Noise",
        "Choices that a taste alone does not decide. The closer two things are in a ranking, the "
        "more often the lower one wins.",
    ),
    (
        "Dispersion, φ",
        "The number behind noise. At 0 a taste is always followed; at 1 it is no more than a "
        "coin. Of two neighbours in "
        "the ranking the lower one wins φ times as often as the higher.",
    ),
    (
        "Predicted right",
        "How often the thing that the model held to be more likely was chosen. A coin gets 50 "
        "of 100.",
    ),
    (
        "Calibration",
        "Whether probabilities mean what they say: of all choices held to be 80 % likely, 80 % "
        "should come true.",
    ),
    (
        "One ranking for all",
        "What one would do without tastes: a single ranking, the same for everybody. Tastes must "
        "beat it to be worth having.",
    ),
    (
        "Number of tastes, K",
        "Chosen before a model is learnt. More tastes always fit the choices at hand better; what "
        "counts is "
        "whether they predict new people better, and whether they are found again in other people.",
    ),
    (
        "Mallows",
        "Colin Mallows described in 1957 how rankings scatter around a true one. Each taste here "
        "is such a scatter; people mix "
        "them. The model is the mixed membership Mallows model of Ding, Ishwar and "
        "Saligrama (2015).",
    ),
)
