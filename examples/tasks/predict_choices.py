"""What one person would choose, and their whole ranking."""

import mallowmix as mm

model = mm.load_dishes(n_users=1).model
mine = [("me", "ramen", "ceviche"), ("me", "goulash", "tabbouleh")]
(chance,) = mm.predict(model, mine, [("pizza", "Greek salad")])[0]
print(f"pizza over Greek salad: {chance:.0%}")
print("how I mix the tastes:", mm.weights(model, mine).theta.round(2)[0])
print("my best:", [line.item for line in mm.rank(model, mine, n_top=3)[0]])
