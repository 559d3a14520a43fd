"""A model in a file: the same model, the same bytes; anything else is refused with a reason."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save as save_tensors

from mallowmix.errors import DataError, FileError, ModelFileError
from mallowmix.model import model_file, old_formats
from mallowmix.model.bradley_terry_model import BradleyTerryModel
from mallowmix.model.calibration import Calibration
from mallowmix.model.ensemble import Ensemble
from mallowmix.model.fit_options import ProjectionsOptions, SpectralOptions
from mallowmix.model.fit_report import (
    CalibrationTrace,
    FitReport,
    ProjectionsTrace,
    SpectralTrace,
    UpdateOrigin,
)
from mallowmix.model.fitted_model import FittedModel
from mallowmix.model.m4 import M4
from mallowmix.model.model_file import dumps, load, loads, save

REPORT = FitReport(
    method="projections",
    options=ProjectionsOptions(zeta=0.07, n_projections=450),
    seed=3,
    n_comparisons=12.5,
    notes=("ä", "b"),
    projections=ProjectionsTrace((("tea", "Käse"),), (0.25,), 0.07),
)
# what the report is in the file, written by hand
IN_FILE = {
    "method": "projections",
    "options": {
        "method": "projections",
        "novel_pairs": "projections",
        "regression": "algorithm-3",
        "n_projections": 450,
        "zeta": 0.07,
        "tol": 1e-4,
        "metric": "moment",
        "min_count": 0.0,
        "dispersion": "pooled",
    },
    "components": "mallows",
    "n_fits": 1,
    "seed": 3,
    "n_comparisons": 12.5,
    "notes": ["ä", "b"],
    "projections": {"novel_pairs": [["tea", "Käse"]], "solid_angles": [0.25], "zeta": 0.07},
}
PARAMETERS = M4([[0, 1, 2], [2, 0, 1]], [0.1, 0.25], [0.3, 1 / 3], ["tea", "Käse", "milk"])
MODEL = FittedModel(PARAMETERS, REPORT)
DATA = dumps(MODEL)


def said(data):
    with pytest.raises(ModelFileError) as caught:
        loads(data, "x.m4")
    return str(caught.value)


def by_hand(header, tensors, key="mallowmix"):
    """A model file written after the description of the format, with no code of ours."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(tensors.items()):
        digest.update(
            f"\n{name} {array.dtype.str} {list(array.shape)}\n".encode() + array.tobytes()
        )
    text = json.dumps(
        {**header, "sha256": digest.hexdigest()}, sort_keys=True, separators=(",", ":")
    )
    return save_tensors(tensors, metadata={key: text})


TENSORS = {
    "sigma": np.array([[0, 1, 2], [2, 0, 1]], "<i4"),
    "phi": np.array([0.1, 0.25]),
    "alpha": np.array([0.3, 1 / 3]),
}
PLAIN = {"likelihood_weight": 1.0, "prior_scale": 1.0, "vertex_share": 0.0, "spam_share": 0.0}
HEADER = {
    "format": 3,
    "items": ["tea", "Käse", "milk"],
    "report": IN_FILE,
    "calibration": PLAIN,
    "n_members": 0,
}


def test_a_model_comes_back_as_it_was(tmp_path):
    save(MODEL, tmp_path / "x.m4")
    model = load(str(tmp_path / "x.m4"))
    assert model == MODEL and model.report == REPORT
    for name, dtype in (("sigma", np.int32), ("phi", np.float64), ("alpha", np.float64)):
        assert getattr(model, name).dtype == dtype
        assert getattr(model, name).tobytes() == getattr(MODEL, name).tobytes()  # to the last bit


def test_the_format_is_the_described_one():
    assert by_hand(HEADER, TENSORS) == DATA


def test_any_safetensors_reader_can_open_it(tmp_path):
    save(MODEL, tmp_path / "x.m4")
    with safe_open(tmp_path / "x.m4", "numpy") as file:
        assert sorted(file.keys()) == ["alpha", "phi", "sigma"]
        assert list(file.metadata()) == ["mallowmix"]
        header = json.loads(file.metadata()["mallowmix"])
    assert sorted(header) == [
        "calibration",
        "format",
        "items",
        "n_members",
        "report",
        "sha256",
    ] and header["items"] == ["tea", "Käse", "milk"]


def several(values):
    return st.lists(values, max_size=3).map(tuple)


WORDS = st.text(max_size=4)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
COUNTS = st.integers(0, 2**63)
TRACES = st.builds(
    SpectralTrace,
    NUMBERS,
    several(NUMBERS),
    st.none() | NUMBERS,
    st.none() | COUNTS,
    st.none() | WORDS,
    st.none() | WORDS,
    several(st.tuples(WORDS, several(NUMBERS))),
    several(COUNTS),
    several(COUNTS),
    several(NUMBERS),
    several(NUMBERS),
)
REPORTS = st.builds(
    FitReport,
    method=WORDS,
    options=st.none()
    | st.builds(SpectralOptions, refine=st.sampled_from(["full", "short", "none"]))
    | st.builds(ProjectionsOptions, zeta=st.just("auto") | st.floats(0, 1e300), min_count=NUMBERS),
    components=st.sampled_from(["mallows", "bradley-terry"]),
    n_fits=COUNTS,
    seed=st.none() | COUNTS,
    n_users=st.none() | COUNTS,
    n_comparisons=st.none() | NUMBERS,
    fingerprint=st.none() | WORDS,
    log_likelihood=st.none() | NUMBERS,
    notes=several(WORDS),
    spectral=st.none() | TRACES,
    projections=st.none()
    | st.builds(ProjectionsTrace, several(st.tuples(WORDS, WORDS)), several(NUMBERS)),
    update=st.none() | st.builds(UpdateOrigin, WORDS, COUNTS, st.none() | WORDS, several(WORDS)),
    calibration=st.none() | st.builds(CalibrationTrace, WORDS, COUNTS, NUMBERS, NUMBERS),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(data=st.data(), K=st.integers(1, 4), Q=st.integers(2, 6))
def test_any_model_survives(data, K, Q):
    draw = data.draw
    sigma = [draw(st.permutations(range(Q))) for _ in range(K)]
    phi = draw(st.lists(st.floats(0, 1), min_size=K, max_size=K))
    alpha = draw(st.lists(st.floats(1e-300, 1e300), min_size=K, max_size=K))
    items = draw(st.lists(st.text(max_size=4), min_size=Q, max_size=Q, unique=True))
    model = FittedModel(M4(np.array(sigma), phi, alpha, items), draw(REPORTS))
    assert loads(dumps(model)) == model
    assert dumps(loads(dumps(model))) == dumps(model)


def test_the_same_model_gives_the_same_bytes(tmp_path):
    fortran = M4(np.asfortranarray(MODEL.sigma), MODEL.phi, MODEL.alpha, MODEL.items)
    assert dumps(FittedModel(fortran, FitReport.from_dict(IN_FILE))) == DATA
    for name in ("here.m4", "there.m4"):
        save(MODEL, tmp_path / name)
        assert (tmp_path / name).read_bytes() == DATA


def test_labels_become_text():
    model = M4(np.array([[0, 1]]), [0.1], [1.0], [10, 9])
    assert loads(dumps(model)).items.tolist() == ["10", "9"]
    assert loads(dumps(model)) == FittedModel(model)


@pytest.mark.parametrize("size", [5, 8, 9, 100, len(DATA) - 40, len(DATA) - 1])
def test_a_truncated_file(size):
    assert said(DATA[:size]) == "x.m4 is cut short: copy or save the model again."


def test_every_altered_byte_is_noticed():
    """Each byte in turn, with three changes: refused, or (a blank after the header, a hex digit in
    capitals) of no effect.
    """
    harmless = 0
    for place in range(len(DATA)):
        for change in (0x01, 0x20, 0x80):
            altered = bytearray(DATA)
            altered[place] ^= change
            try:
                assert loads(bytes(altered)) == MODEL
                harmless += 1
            except ModelFileError:
                continue
    assert harmless < 10


def test_an_altered_file():
    expected = (
        "x.m4 was altered after it was written (its checksum is wrong): copy or save the model "
        "again."
    )
    assert said(DATA[:-1] + b"\1") == expected  # a number
    assert said(DATA.replace(b"milk", b"silk")) == expected  # a label
    assert said(DATA.replace(b'\\"seed\\":3', b'\\"seed\\":4')) == expected  # the report
    assert said(DATA.replace(b'\\"seed\\":3', b'\\"seed\\":]')) == expected  # no JSON any more
    assert (
        said(save_tensors(TENSORS, metadata={"mallowmix": '{"format":1,"report":1e999}'}))
        == expected
    )
    assert said(DATA + b"more") == expected
    assert (
        said(
            save_tensors(
                TENSORS,
                metadata={"mallowmix": json.dumps({**HEADER, "report": {"x": float("nan")}})},
            )
        )
        == expected
    )
    assert said(save_tensors(TENSORS, metadata={"mallowmix": "[]"})) == expected
    assert said(save_tensors(TENSORS, metadata={"mallowmix": "{}"})) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"user,winner,loser\nann,tea,milk\n",
        b"PAR1" * 20,
        b"1234567{ {}" * 5,
        b"\x80\x04\x95" * 9,
    ],
)
def test_a_foreign_file(data):
    assert (
        said(data)
        == "x.m4 is not a model file: mallowmix reads what `mallowmix fit` or `save` wrote."
    )


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"mallowmix2": "{}"}])
def test_safetensors_of_somebody_else(metadata):
    assert said(save_tensors(TENSORS, metadata=metadata)) == (
        "x.m4 is a safetensors file, but not a model of mallowmix: it has no entry 'mallowmix'."
    )


def test_a_file_of_a_newer_version():
    """Whatever a later layout looks like, its version is the first thing that is read."""
    data = save_tensors({"other": np.zeros(2)}, metadata={"mallowmix": '{"format":7,"anything":1}'})
    assert (
        said(data)
        == "x.m4 was written by a newer mallowmix (format 7, this one reads up to 3): upgrade "
        "mallowmix."
    )


@pytest.mark.parametrize("version", [-1, "1", None, 1.0])
def test_a_version_that_never_was(version):
    assert "was altered" in said(by_hand({**HEADER, "format": version}, TENSORS))


def test_an_older_version_stays_readable():
    """Format 0 had no report."""
    model = loads(by_hand({"format": 0, "items": HEADER["items"]}, TENSORS))
    assert model == FittedModel(PARAMETERS)
    assert "was altered" in said(
        by_hand({"format": 0, "items": HEADER["items"]}, TENSORS).replace(b"milk", b"silk")
    )


def test_versions_are_upgraded_one_after_the_other(monkeypatch):
    def step(version):
        def upgrade(header, tensors):
            notes = [*header["report"].get("notes", []), str(version)]
            report = {**header["report"], "notes": notes}
            return {**header, "format": version + 1, "report": report}, tensors

        return upgrade

    monkeypatch.setattr(model_file, "FORMAT", 5)
    monkeypatch.setitem(old_formats._STEPS, 3, step(3))
    monkeypatch.setitem(old_formats._STEPS, 4, step(4))
    found = loads(by_hand({"format": 0, "items": HEADER["items"]}, TENSORS))
    assert found.report.notes == ("3", "4")


def test_format_1_knew_no_calibration():
    report = {"method": "projections", "seed": 3, "options": {"zeta": 0.07, "n_projections": 450}}
    model = loads(by_hand({"format": 1, "items": HEADER["items"], "report": report}, TENSORS))
    assert model.m4 == PARAMETERS and model.calibration == Calibration()
    assert len(model.ensemble) == 0
    assert (model.report.method, model.report.seed) == ("projections", 3)
    assert model.report.options == REPORT.options


def test_scores_calibration_and_members_survive():
    items, alpha = MODEL.items, MODEL.alpha
    member = BradleyTerryModel([[0.5, 1, -2], [0, 0, 1]], [1, 2], items)
    model = replace(
        MODEL,
        bradley_terry=BradleyTerryModel([[1, 2.5, 3], [0, -1, 0]], alpha, items),
        calibration=Calibration(0.25, 3, 0.5, 0.1),
        ensemble=Ensemble((member, PARAMETERS)),
    )
    found = loads(dumps(model))
    assert found == model and dumps(found) == dumps(model)
    assert found.members == (model.bradley_terry, member, PARAMETERS)
    for changed in (
        replace(model, ensemble=Ensemble()),
        replace(model, ensemble=Ensemble((PARAMETERS, member))),
        replace(model, bradley_terry=None),
        replace(model, calibration=Calibration()),
        replace(model, report=replace(REPORT, seed=4)),
    ):
        assert found != changed


def test_every_older_version_has_an_upgrade():
    assert sorted(old_formats._STEPS) == list(range(model_file.FORMAT))


def test_a_file_that_holds_no_valid_model():
    for header, tensors, message in [
        (HEADER, {**TENSORS, "phi": np.array([0.1])}, "sigma has 2 components of 3 items"),
        (HEADER, {**TENSORS, "phi": np.array([0.1, 1.5])}, "phi is"),
        (HEADER, {**TENSORS, "alpha": np.array([0.1, -1])}, "alpha must"),
        (HEADER, {**TENSORS, "sigma": np.zeros((2, 3), np.int32)}, "sigma must hold permutations"),
        ({**HEADER, "items": ["tea", "tea", "milk"]}, TENSORS, "not all different"),
        ({**HEADER, "items": ["tea"]}, TENSORS, "sigma has 2 components of 3 items"),
        (HEADER, {name: TENSORS[name] for name in ("sigma", "phi")}, "it lacks 'alpha'"),
        ({name: HEADER[name] for name in HEADER if name != "items"}, TENSORS, "it lacks 'items'"),
        (
            {**HEADER, "calibration": {"likelihood_weight": -1.0}},
            TENSORS,
            "likelihood_weight is -1.0; it must be",
        ),
        ({**HEADER, "calibration": {"charm": 1.0}}, TENSORS, "charm"),
        ({**HEADER, "n_members": 1}, TENSORS, "it lacks 'member_1.alpha'"),
        ({**HEADER, "n_members": "2"}, TENSORS, 'n_members is "2"; it must be a whole number.'),
        ({**HEADER, "report": {"charm": 1}}, TENSORS, "report has an entry 'charm'"),
        ({**HEADER, "report": {"seed": "3"}}, TENSORS, "report.seed is '3', which does not fit"),
        ({**HEADER, "report": {"notes": [1]}}, TENSORS, "report.notes[0] is 1"),
        (
            {**HEADER, "report": {"spectral": {"moved": [0.5]}}},
            TENSORS,
            "report.spectral.moved[0] is 0.5",
        ),
        (
            {**HEADER, "report": {"options": {"method": "spectral", "zeta": 1}}},
            TENSORS,
            'zeta is no option of method="spectral"',
        ),
    ]:
        text = said(by_hand(header, tensors))
        assert text.startswith("x.m4 is not a valid model: ") and message in text


def test_a_missing_file_and_what_the_operating_system_refuses(tmp_path):
    with pytest.raises(ModelFileError) as caught:
        load(tmp_path / "x.m4")
    assert (
        str(caught.value)
        == f"There is no model file {tmp_path / 'x.m4'}: check the name and the folder."
    )
    with pytest.raises(ModelFileError) as caught:
        load(tmp_path)
    assert str(caught.value) == f"{tmp_path} is a folder: name a model file."
    with pytest.raises(FileError, match="there is no folder"):
        save(MODEL, tmp_path / "no" / "x.m4")


def test_errors_of_a_file_begin_with_its_path(tmp_path):
    (tmp_path / "x.m4").write_bytes(DATA[:-3])
    with pytest.raises(ModelFileError) as caught:
        load(tmp_path / "x.m4")
    assert str(caught.value).startswith(f"{tmp_path / 'x.m4'} is cut short")


@pytest.mark.parametrize(
    ("report", "message"),
    [
        (
            FitReport(options=ProjectionsOptions(tol={1, 2})),
            "report['options']['tol'] is {1, 2} (set), which JSON cannot hold",
        ),
        (
            FitReport(spectral=SpectralTrace(spectrum=(1.0, float("nan")))),
            "report['spectral']['spectrum'][1] is nan (float), which JSON cannot hold",
        ),
        (
            FitReport(seed=np.int64(3)),
            "report['seed'] is np.int64(3) (int64), which JSON cannot hold",
        ),
        (
            FitReport(notes=({1: "x"},)),
            "report['notes'][0] has the key 1; keys must be text.",
        ),
    ],
)
def test_a_report_that_is_not_json_is_refused_and_nothing_is_written(tmp_path, report, message):
    path = tmp_path / "x.m4"
    path.write_text("as it was")
    with pytest.raises(DataError) as caught:
        save(FittedModel(PARAMETERS, report), path)
    assert str(caught.value).startswith("The model cannot be saved: ") and message in str(
        caught.value
    )
    assert path.read_text() == "as it was"


def test_an_interrupted_save_leaves_the_old_model(tmp_path, monkeypatch):
    path = tmp_path / "x.m4"
    save(MODEL, path)

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(M4(MODEL.sigma, [0.5, 0.5], MODEL.alpha, MODEL.items), path)
    assert load(path) == MODEL and [entry.name for entry in tmp_path.iterdir()] == ["x.m4"]
