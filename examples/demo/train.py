"""Fits a line to the points of a CSV file by gradient descent: a training job that runs anywhere in a few seconds."""

import csv
import json
import sys
import time

EPOCHS = 10
STEPS_PER_EPOCH = 20
LEARNING_RATE = 0.02
PAUSE_SECONDS = 0.3


def main(points_file: str, model_file: str) -> None:
    with open(points_file, newline="") as file:
        points = [(float(row["x"]), float(row["y"])) for row in csv.DictReader(file)]
    slope = intercept = loss = 0.0
    for epoch in range(1, EPOCHS + 1):
        for _ in range(STEPS_PER_EPOCH):
            errors = [(slope * x + intercept - y, x) for x, y in points]
            slope -= LEARNING_RATE * sum(2 * error * x for error, x in errors) / len(points)
            intercept -= LEARNING_RATE * sum(2 * error for error, _ in errors) / len(points)
        loss = sum((slope * x + intercept - y) ** 2 for x, y in points) / len(points)
        sys.stdout.write(f"epoch {epoch:2}/{EPOCHS}  loss {loss:.6f}\n")
        sys.stdout.flush()
        time.sleep(PAUSE_SECONDS)
    with open(model_file, "w") as file:
        json.dump({"slope": slope, "intercept": intercept, "loss": loss}, file)
    sys.stdout.write(f"y = {slope:.3f} x + {intercept:.3f}, written to {model_file}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
