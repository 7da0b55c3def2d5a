# SPDX-License-Identifier: Apache-2.0
"""Which sentences are spoken for the data sets, and in which listening voices.

All of them come from one random generator in a fixed order, so that the held-out sentences of a set can be drawn again
without the speech synthesizers:

    held_out_to_speak()  -> {voice: the 40 sentences that the speaking is measured with}
"""

import random

import world

SEED = 20
ACCENTS = ["en-us", "en", "en-gb-scotland", "en-gb-x-gbclan", "en-gb-x-gbcwmd", "en-us-nyc", "en-029"]
VARIANTS = [""] + [f"+m{i}" for i in range(1, 7)] + [f"+f{i}" for i in range(1, 5)]
VARIANTS += ["+klatt", "+klatt2", "+klatt4", "+Annie", "+Andy", "+steph2", "+iven"]
FLITE_VOICES = ["slt", "rms", "awb", "kal16"]
# The order in which the speaking voices are drawn.
SPEAKING_VOICES = ["us_female", "us_male", "uk_male", "uk_female"]
LISTENING_CLIPS = 12  # of each question
TRAINING_SENTENCES = 1700  # of each speaking voice
HELD_OUT_SENTENCES = 40  # of each speaking voice


def listening_voice(r):
    """A random listening voice: (synthesizer, its voice, its settings)."""
    x = r.random()
    if x < 0.22:
        return "flite", r.choice(FLITE_VOICES), (r.uniform(0.8, 1.1),)
    v = r.choice(ACCENTS) + r.choice(VARIANTS)
    return "espeak", v, (r.randint(145, 205), r.randint(30, 70), r.randint(30, 70))


def question_pairs(r):
    pairs = {}
    for _ in range(60000):
        q, a = world.question(r)
        pairs[q] = a
    return pairs


def draw(r, n, held):
    """n statements that are held out of training, or are not."""
    got, seen = [], set()
    while len(got) < n:
        s = world.statement(r)
        if world.is_held_out(s) == held and s not in seen:
            got.append(s)
            seen.add(s)
            if held and len(seen) > 400:
                seen.clear()
        elif not held and len(seen) > 3000:
            seen.clear()
    return got


def held_out_to_speak():
    r = random.Random(SEED)
    for _ in range(LISTENING_CLIPS * len(question_pairs(r))):
        listening_voice(r)
    sentences = {}
    for v in SPEAKING_VOICES:
        draw(r, TRAINING_SENTENCES, False)
        sentences[v] = draw(r, HELD_OUT_SENTENCES, True)
    return sentences
