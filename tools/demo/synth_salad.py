# SPDX-License-Identifier: Apache-2.0
"""More listening material: the world's words in sentences the grammar would never make.

Without it the backbone learns which words may follow which and trusts that more than the audio.
    python3 synth_salad.py DATA_DIR salad 3000 0.4      # 0.4 of the clips in the four speaking voices
    python3 synth_salad.py DATA_DIR salad2 1600 1
"""
import random
import sys

import synth
import world

r = random.Random(4711)  # word lists
seen = set()
for _ in range(40000):
    seen.add(world.statement(r))
WORDS = sorted(
    {w.strip(".,?") for s in seen for w in s.split()}
    | {
        w
        for s in seen
        for w in s.lower().replace(".", "").replace(",", "").replace("?", "").split()
        if w in world.UNITS
    }
)
KEEP = set(world.DAYS + world.MONTHS + world.CITIES + world.NAMES + [c for c, _ in world.CAPITALS])
WORDS = [w for w in WORDS if w in KEEP or w == w.lower()]
SLOTS = [
    world.COLOURS,
    world.THINGS,
    world.ROOMS,
    world.DEVICES,
    world.WEATHER,
    world.FOOD,
    world.DRINKS,
    world.CITIES,
    world.NAMES,
    world.FAMILY,
    world.DAYS,
    world.MONTHS,
    world.ORDINALS,
    world.PLACES,
    world.MUSIC,
    sorted(world.LEGS),
    [world.num(i) for i in range(0, 100)],
    world.HOURS,
]


def any_word():
    return r.choice(r.choice(SLOTS)) if r.random() < 0.75 else r.choice(WORDS)


FRAMES = [
    "The {} is {}.",
    "The {} {} is in the {}.",
    "I would like {} {}, please.",
    "I would like a cup of {}, please.",
    "Make the {} {}.",
    "Turn {} the {} in the {}.",
    "Tomorrow will be {} and {}.",
    "Please call my {} {}.",
    "Please call my {}.",
    "It is {} in {} {}.",
    "It is {} {}.",
    "Set a timer for {} {}.",
    "The {} costs {} {}.",
    "Today is {}, the {} of {}.",
    "The temperature in {} is {} degrees.",
    "My name is {}.",
    "The {} to {} leaves at {} {}.",
    "Wake me up at {} {}.",
    "{} plus {} is {}.",
    "{} comes after {}.",
    "What is {} plus {}?",
    "What colour is the {}?",
]


def sentence():
    if r.random() < 0.7:
        f = r.choice(FRAMES)
        s = f.format(*[any_word() for _ in range(f.count("{}"))])
    else:
        s = " ".join(any_word() for _ in range(r.randint(2, 6))) + "."
    return world.cap(s)


if __name__ == "__main__":
    out, name, count, share = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    r = random.Random(name)
    w = synth.Writer(f"{out}/{name}")
    n = 0
    while n < count:
        s = sentence()
        if world.is_held_out(s):
            continue
        if r.random() < share:
            v = r.choice(list(synth.TTS_VOICES))
            pcm, sr, ends = synth.speak_tts(s, v)
        else:
            pcm, sr, ends, v = synth.speak_any(s, r)
        w.add(pcm, sr, ends, text=s, voice=v, held=False)
        n += 1
