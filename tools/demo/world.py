# SPDX-License-Identifier: Apache-2.0
"""The demo's small English world: a closed grammar of statements, commands, questions and answers.

Everything the demo model is trained and tested on is drawn from here.  Numbers are written as
words, so a transcript is exactly what is spoken.

    statement(rng)      -> one sentence to read aloud or to transcribe
    question(rng)       -> (question, answer) for the spoken question-and-answer task
    is_held_out(text)   -> True for the sentences that are kept out of training
"""
import hashlib

UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
TENS = {2: "twenty", 3: "thirty", 4: "forty", 5: "fifty", 6: "sixty", 7: "seventy", 8: "eighty", 9: "ninety"}


def num(n):
    if n < 20:
        return UNITS[n]
    t, u = divmod(n, 10)
    return TENS[t] + ("" if u == 0 else "-" + UNITS[u])


DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
HOURS = [num(i) for i in range(1, 13)]
CITIES = "London Paris Boston Berlin Madrid Dublin Rome Oxford".split()
PLACES = "station airport market museum beach".split()
NAMES = "Anna Tom Maria Peter Lucy Sam".split()
WEATHER = "sunny cloudy rainy windy warm cold".split()
DEVICES = "light lamp radio heater fan".split()
ROOMS = "kitchen bedroom garden office bathroom".split()
COLOURS = "red blue green yellow white black orange brown".split()
THINGS = "car house door cat dog book ball flower".split()
MUSIC = "jazz rock piano".split()
FAMILY = "mother father sister brother friend".split()
FOOD = "apples oranges eggs".split()
DRINKS = "tea coffee milk water".split()
LEGS = {"cat": "four", "dog": "four", "horse": "four", "cow": "four", "bird": "two", "spider": "eight", "bee": "six"}
OBJECT_COLOUR = {"sky": "blue", "grass": "green", "sun": "yellow", "snow": "white", "night": "black"}
COUNTS = [
    ("days", "week", "A", "seven"),
    ("months", "year", "A", "twelve"),
    ("hours", "day", "A", "twenty-four"),
    ("minutes", "hour", "An", "sixty"),
    ("seconds", "minute", "A", "sixty"),
]
OPPOSITES = [
    ("hot", "cold"),
    ("big", "small"),
    ("day", "night"),
    ("open", "closed"),
    ("happy", "sad"),
    ("fast", "slow"),
]
CAPITALS = [
    ("England", "London"),
    ("France", "Paris"),
    ("Germany", "Berlin"),
    ("Spain", "Madrid"),
    ("Ireland", "Dublin"),
    ("Italy", "Rome"),
]
GREETINGS = [
    "Hello, how are you?",
    "Good morning.",
    "Good evening.",
    "Thank you very much.",
    "See you tomorrow.",
    "Nice to meet you.",
    "I am fine, thank you.",
    "How can I help you today?",
    "You are welcome.",
    "Have a nice day.",
    "Good night.",
]
FACTS = [
    "The sun is hot.",
    "Ice is cold.",
    "Fish can swim.",
    "Birds can fly.",
    "The moon is bright.",
    "The earth is round.",
    "Water is good for you.",
    "Please stand behind the yellow line.",
    "Please take an umbrella.",
    "Stop the music.",
    "Turn the volume up.",
    "Turn the volume down.",
    "The music is too loud.",
    "It will rain tomorrow.",
    "The quick brown fox jumps over the lazy dog.",
]


def cap(s):
    return s[0].upper() + s[1:]


def clock(r):
    h = r.choice(HOURS)
    return r.choice(
        [f"{h} o'clock", f"half past {h}", f"quarter past {h}", f"quarter to {h}", f"{h} thirty", f"{h} fifteen"]
    )


def minutes(r):
    return num(r.choice([r.randint(2, 20), r.choice([25, 30, 40, 45, 50])]))


def big(r):
    return num(r.choice([r.randint(2, 20), r.randint(21, 99)]))


STATEMENTS = [
    (3, lambda r: f"The next train leaves in {minutes(r)} minutes."),
    (2, lambda r: f"The train to {r.choice(CITIES)} leaves at {clock(r)}."),
    (2, lambda r: f"The {r.choice(['train', 'bus'])} to the {r.choice(PLACES)} arrives in {minutes(r)} minutes."),
    (1, lambda r: f"The next train to {r.choice(CITIES)} is {r.choice(['late', 'on time'])}."),
    (1, lambda r: f"Platform {num(r.randint(1, 20))} is {r.choice(['open', 'closed'])}."),
    (2, lambda r: f"It is {clock(r)}."),
    (1, lambda r: f"Today is {r.choice(DAYS)}."),
    (
        2,
        lambda r: f"{r.choice(['Today', 'Tomorrow'])} is {r.choice(DAYS)}, "
        f"the {r.choice(ORDINALS)} of {r.choice(MONTHS)}.",
    ),
    (2, lambda r: f"My birthday is the {r.choice(ORDINALS)} of {r.choice(MONTHS)}."),
    (
        2,
        lambda r: f"It is {r.choice(WEATHER)} in {r.choice(CITIES)} "
        f"{r.choice(['today', 'this morning', 'this evening'])}.",
    ),
    (2, lambda r: f"Tomorrow will be {r.choice(WEATHER)} and {r.choice(WEATHER)}."),
    (2, lambda r: f"The temperature in {r.choice(CITIES)} is {big(r)} degrees."),
    (3, lambda r: f"Turn {r.choice(['on', 'off'])} the {r.choice(DEVICES)} in the {r.choice(ROOMS)}."),
    (2, lambda r: f"Set a timer for {minutes(r)} {r.choice(['minutes', 'seconds', 'hours'])}."),
    (2, lambda r: f"Wake me up at {clock(r)}."),
    (1, lambda r: f"Play some {r.choice(MUSIC)} music in the {r.choice(ROOMS)}."),
    (2, lambda r: f"Please call my {r.choice(FAMILY)}{r.choice(['', ' ' + r.choice(NAMES)])}."),
    (1, lambda r: f"{r.choice(['Open', 'Close'])} the {r.choice(['door', 'window'])} in the {r.choice(ROOMS)}."),
    (2, lambda r: f"Make the {r.choice(['light', 'lamp'])} {r.choice(COLOURS)}."),
    (3, lambda r: f"The {r.choice(THINGS)} is {r.choice(COLOURS)}."),
    (2, lambda r: f"The {r.choice(COLOURS)} {r.choice(THINGS)} is in the {r.choice(ROOMS)}."),
    (2, lambda r: f"My name is {r.choice(NAMES)}{r.choice(['', ', nice to meet you'])}."),
    (1, lambda r: f"Good {r.choice(['morning', 'evening', 'night'])}, {r.choice(NAMES)}."),
    (2, lambda r: f"I would like {num(r.randint(2, 12))} {r.choice(FOOD)}, please."),
    (1, lambda r: f"I would like a cup of {r.choice(DRINKS)}, please."),
    (2, lambda r: f"The {r.choice(DRINKS)} costs {big(r)} {r.choice(['pounds', 'dollars'])}."),
    (1, lambda r: f"{r.choice(NAMES)} has {num(r.randint(2, 20))} {r.choice(['apples', 'books', 'cats', 'dogs'])}."),
    (2, lambda r: r.choice(GREETINGS)),
    (2, lambda r: r.choice(FACTS)),
    (4, lambda r: question(r)[1]),
    (3, lambda r: question(r)[0]),
]


def q_sum(r):
    a = r.randint(1, 10)
    b = r.randint(1, 10)
    return f"What is {num(a)} plus {num(b)}?", f"{cap(num(a))} plus {num(b)} is {num(a + b)}."


def q_colour(r):
    o, c = r.choice(sorted(OBJECT_COLOUR.items()))
    return f"What colour is the {o}?", f"The {o} is {c}."


def q_legs(r):
    a, n = r.choice(sorted(LEGS.items()))
    return f"How many legs does a {a} have?", f"A {a} has {n} legs."


def q_count(r):
    many, one, art, n = r.choice(COUNTS)
    return f"How many {many} are in {art.lower()} {one}?", f"{art} {one} has {n} {many}."


def q_day(r):
    i = r.randrange(7)
    return f"What day comes after {DAYS[i]}?", f"{DAYS[(i + 1) % 7]} comes after {DAYS[i]}."


def q_month(r):
    i = r.randrange(12)
    return f"What month comes after {MONTHS[i]}?", f"{MONTHS[(i + 1) % 12]} comes after {MONTHS[i]}."


def q_number(r):
    n = r.randint(1, 30)
    return f"What number comes after {num(n)}?", f"{cap(num(n + 1))} comes after {num(n)}."


def q_opposite(r):
    a, b = r.choice(OPPOSITES)
    return f"What is the opposite of {a}?", f"The opposite of {a} is {b}."


def q_capital(r):
    c, t = r.choice(CAPITALS)
    return f"What is the capital of {c}?", f"The capital of {c} is {t}."


def q_device(r):
    s, d, m = r.choice(["on", "off"]), r.choice(DEVICES), r.choice(ROOMS)
    return f"Turn {s} the {d} in the {m}.", f"The {d} in the {m} is {s}."


def q_timer(r):
    n, u = minutes(r), r.choice(["minutes", "seconds", "hours"])
    return f"Set a timer for {n} {u}.", f"The timer is set for {n} {u}."


def q_light(r):
    d, c = r.choice(["light", "lamp"]), r.choice(COLOURS)
    return f"Make the {d} {c}.", f"The {d} is {c}."


def q_name(r):
    n = r.choice(NAMES)
    return f"My name is {n}.", f"Nice to meet you, {n}."


def q_fixed(r):
    return r.choice(
        [
            ("Hello, how are you?", "I am fine, thank you."),
            ("What is your name?", "My name is Rill."),
            ("When does the next train leave?", "The next train leaves in ten minutes."),
            ("Thank you very much.", "You are welcome."),
            ("Good night.", "Good night, see you tomorrow."),
            ("Can birds fly?", "Yes, birds can fly."),
            ("Can fish swim?", "Yes, fish can swim."),
            ("Is the sun hot?", "Yes, the sun is hot."),
            ("Will it rain tomorrow?", "Yes, please take an umbrella."),
            ("Good morning.", "Good morning, how can I help you today?"),
        ]
    )


QUESTIONS = [
    (3, q_sum),
    (2, q_colour),
    (2, q_legs),
    (2, q_count),
    (2, q_day),
    (2, q_month),
    (2, q_number),
    (1, q_opposite),
    (2, q_capital),
    (4, q_device),
    (2, q_timer),
    (2, q_light),
    (1, q_name),
    (4, q_fixed),
]


def question(r):
    return r.choices(QUESTIONS, [w for w, _ in QUESTIONS])[0][1](r)


def statement(r):
    return r.choices(STATEMENTS, [w for w, _ in STATEMENTS])[0][1](r)


# Only sentences with free slots are held out: a fixed fact or greeting cannot be guessed unseen.
FREE = (
    "The next train leaves",
    "The train to",
    "The bus to",
    "It is ",
    "Tomorrow",
    "Today is",
    "My birthday",
    "The temperature",
    "Turn o",
    "Set a timer",
    "Wake me",
    "Please call",
    "Make the",
    "The red",
    "The blue",
    "The green",
    "The yellow",
    "The white",
    "The black",
    "The orange",
    "The brown",
    "I would like",
    "The tea",
    "The coffee",
    "The milk",
    "The water",
    "Play some",
    "The car",
    "The house",
    "The door",
    "The book",
    "The ball",
    "The flower",
    "The light in",
    "The lamp in",
    "The radio in",
    "The heater in",
    "The fan in",
    "The timer",
)


def answer_key(text):
    """A command and its spoken answer are held out together."""
    for s in ("on", "off"):
        for d in DEVICES:
            for m in ROOMS:
                if text in (f"Turn {s} the {d} in the {m}.", f"The {d} in the {m} is {s}."):
                    return f"device {s} {d} {m}"
    if text.startswith("Set a timer for "):
        return "timer " + text[len("Set a timer for ") :]
    if text.startswith("The timer is set for "):
        return "timer " + text[len("The timer is set for ") :]
    return text


ALWAYS_TRAIN = ("The next train leaves in ten minutes.",)


def is_held_out(text):
    if text in ALWAYS_TRAIN or not text.startswith(FREE):
        return False
    return hashlib.sha256(answer_key(text).encode()).digest()[0] < 26  # about one in ten


if __name__ == "__main__":
    import random

    r = random.Random(1)
    seen = set()
    for _ in range(200000):
        seen.add(statement(r))
    words = {w.strip(".,?").lower() for s in seen for w in s.split()}
    print(len(seen), "distinct statements,", len(words), "words,", sum(map(is_held_out, seen)), "held out")
    qs = {question(r)[0] for _ in range(50000)}
    print(len(qs), "distinct questions,", sum(map(is_held_out, qs)), "held out")
    for _ in range(12):
        print(statement(r), "|", question(r))
