# SPDX-License-Identifier: Apache-2.0
"""Fresh recordings of questions for testing: python3 synth_test.py DATA_DIR"""
import random
import sys

import synth
import world

r = random.Random(777)
pairs = {}
for _ in range(60000):
    q, a = world.question(r)
    pairs[q] = a
w = synth.Writer(f"{sys.argv[1]}/qtest")
known = [q for q in sorted(pairs) if not world.is_held_out(q)]
new = [q for q in sorted(pairs) if world.is_held_out(q)]
for q in (
    r.sample(known, 100)
    + new * 3
    + [
        "What colour is the sky?",
        "What is two plus three?",
        "How many legs does a spider have?",
        "When does the next train leave?",
    ]
):
    pcm, sr, ends, v = synth.speak_any(q, r)
    w.add(pcm, sr, ends, text=q, answer=pairs[q], voice=v, held=True, unseen=world.is_held_out(q))
print(w.off, len(known), len(new))
