"""All items by how often they win, with their position in each component."""

import mallowmix as mm

model = mm.load_dishes(n_users=1).model
board = mm.leaderboard(model)
print(board.to_frame("pandas").head())
