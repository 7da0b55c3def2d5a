#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write tests/data/text/chat/jinja_cases.json: small templates with what Jinja itself (Debian's python3-jinja2) makes of
them, in the environment in which chat templates are run. A case without "output" is one that Jinja refuses to render.

usage: make_jinja_cases.py > tests/data/text/chat/jinja_cases.json
"""
import datetime
import json

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = datetime.datetime(2026, 5, 8, 15, 4, 9)

CONTEXT = {
    "s": "Hello World", "u": "\u6771\u4eac \U0001f600 \u00e9", "empty": "", "n": None, "t": True, "f": False,
    "i": 7, "neg": -3, "x": 1.5, "big": 123456789012345678901234567890, "l": [1, "two", 3.0, None, True],
    "nums": [3, 1, 2], "d": {"b": 1, "a": "it's", "c": {"k": [1, 2]}},
    "people": [{"name": "bo", "age": 3}, {"name": "Al", "age": 30, "tag": "x"}, {"name": "cy", "age": 12}],
    "sp": "  \t padded\u00a0 \n", "csv": "a,b,,c", "nested": [[1, 2], [3, 4]], "quote": "a'b\"c\\d\ne\tf\x01\u00a0\u2028",
}

OUTPUT_TEMPLATES = r"""
{{ s }}|{{ i }}|{{ x }}|{{ t }}|{{ f }}|{{ n }}|{{ missing }}|{{ big }}
{{ l }}|{{ d }}|{{ nested }}|{{ (1, 'a') }}|{{ (1,) }}|{{ () }}|{{ [] }}|{{ {} }}
{{ [quote] }}|{{ ["it's", 'say "x"', u] }}
{{ 1e16 }}|{{ 1e-7 }}|{{ 123456.789 }}|{{ 1e22 }}|{{ 0.1 + 0.2 }}|{{ 100.0 }}|{{ 1.5e300 * 10 }}|{{ 5e-324 }}|{{ -0.0 }}
{{ 7 // 2 }}|{{ -7 // 2 }}|{{ 7 % -3 }}|{{ -7 % 3 }}|{{ 7 / 2 }}|{{ 6 / 3 }}|{{ 7.5 // 2 }}|{{ -7.5 % 2 }}
{{ 1 + 2 * 3 - 4 }}|{{ (1 + 2) * 3 }}|{{ 'ab' * 3 }}|{{ 2 * [1] }}|{{ [1] + [2] }}|{{ 'a' + 'b' }}|{{ 1 ~ 'b' ~ none ~ 1.0 }}
{{ -i }}|{{ +i }}|{{ - -3 }}|{{ not t }}|{{ not not t }}|{{ -x }}|{{ true + 1 }}
{{ 1 < 2 < 3 }}|{{ 1 < 2 > 3 }}|{{ 'a' < 'b' }}|{{ 1 == 1.0 }}|{{ t == 1 }}|{{ [1, 2] == [1, 2] }}|{{ {'a': 1} == {'a': 1.0} }}
{{ 'a' in 'cat' }}|{{ 3 in nums }}|{{ 'b' in d }}|{{ 'z' not in d }}|{{ 'x' in missing }}|{{ none in l }}
{{ t and s }}|{{ empty or s }}|{{ empty and missing }}|{{ n or f }}|{{ missing or 'dflt' }}|{{ 1 if t else 2 }}|{{ 1 if f }}
{{ s if s else 'no' if t else 'never' }}|{{ (1 if f else 2) + 1 }}
{{ s[0] }}|{{ s[-1] }}|{{ u[0] }}|{{ u[3] }}|{{ s[99] }}|{{ l[1] }}|{{ l[-1] }}|{{ l[99] }}|{{ nested[1][0] }}|{{ nested.1.0 }}
{{ s[1:4] }}|{{ s[::-1] }}|{{ s[:-3] }}|{{ s[-3:] }}|{{ u[1:4] }}|{{ nums[1:] }}|{{ nums[::-1] }}|{{ nums[5:] }}|{{ nums[-99:2] }}
{{ nums[::2] }}|{{ nums[2:0:-1] }}|{{ nums[10::-1] }}|{{ nums[:-99:-1] }}|{{ s[1:8:3] }}
{{ d.a }}|{{ d['a'] }}|{{ d.c.k }}|{{ d.zzz }}|{{ d['zzz'] }}|{{ n.foo }}|{{ s.foo }}|{{ i.foo }}|{{ d['c']['k'][0] }}
{{ l | tojson }}|{{ d | tojson }}|{{ u | tojson }}|{{ quote | tojson }}|{{ x | tojson }}|{{ big | tojson }}|{{ '<a>&' | tojson }}
{{ d | tojson(indent=2) }}
{{ [] | tojson(indent=2) }}{{ [[], {}] | tojson(indent=4) }}
{{ d | tojson(sort_keys=true) }}|{{ d | tojson(separators=(',', ':')) }}|{{ u | tojson(ensure_ascii=true) }}
{{ sp | trim }}|{{ sp.strip() }}|{{ sp.lstrip() }}|{{ sp.rstrip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'xyaxy' | trim('yx') }}|{{ 5 | trim }}
{{ csv.split(',') }}|{{ csv.split(',', 1) }}|{{ ' a  b '.split() }}|{{ ' a  b c '.split(none, 1) }}|{{ 'abc'.split('z') }}|{{ csv.rsplit(',', 1) }}
{{ s.startswith('He') }}|{{ s.endswith('x') }}|{{ s.endswith(('x', 'ld')) }}|{{ s.find('World') }}|{{ u.find(u[1:]) }}|{{ s.find('q') }}
{{ s.upper() }}|{{ s.lower() }}|{{ s | upper }}|{{ 'hELLO wORLD' | capitalize }}|{{ u | upper }}|{{ 'x'.join(['a', 'b']) }}
{{ s.replace('l', 'L') }}|{{ s.replace('l', 'L', 1) }}|{{ s | replace('o', '0') }}|{{ 'ab' | replace('', '-') }}|{{ 12 | replace(1, 3) }}
{{ 'a\nb\r\nc'.splitlines() }}|{{ 'aXbX'.count('X') }}|{{ 'prefix-a'.removeprefix('prefix-') }}|{{ 'a.txt'.removesuffix('.txt') }}
{{ s | length }}|{{ u | length }}|{{ l | length }}|{{ d | length }}|{{ missing | length }}|{{ l | count }}
{{ missing | default('x') }}|{{ n | default('x') }}|{{ n | default('x', true) }}|{{ empty | d('y', boolean=true) }}|{{ missing | default }}
{{ l | join }}|{{ l | join(', ') }}|{{ people | join('-', attribute='name') }}|{{ 'abc' | join('.') }}|{{ d | join('+') }}
{{ nums | first }}|{{ nums | last }}|{{ [] | first }}|{{ 'abc' | last }}|{{ nums | sort }}|{{ nums | sort(reverse=true) }}|{{ nums | reverse | list }}
{{ people | map(attribute='name') | list }}|{{ people | map(attribute='tag', default='-') | list }}|{{ ['a', 'b'] | map('upper') | list }}
{{ people | selectattr('tag') | map(attribute='name') | join(',') }}|{{ people | selectattr('tag', 'defined') | list | length }}|{{ people | rejectattr('age', 'gt', 10) | map(attribute='name') | list }}
{{ nums | select('odd') | list }}|{{ nums | reject('eq', 2) | list }}|{{ l | select | list }}|{{ people | sort(attribute='name') | map(attribute='name') | list }}
{{ 'abcabc' | list | unique | list }}|{{ 'abc' | list }}|{{ d | list }}|{{ d | dictsort }}|{{ d | items | list }}
{{ '3' | int }}|{{ 'x' | int }}|{{ '3.7' | int }}|{{ 3.7 | int }}|{{ 'x' | int(5) }}|{{ '2.5' | float }}|{{ 'x' | float }}|{{ -3 | abs }}|{{ t | int }}
{{ -3 | abs }}|{{ (-3) | abs }}|{{ 'a\nb\n\nc' | indent }}|{{ 'a\nb' | indent(2, true) }}|{{ s | string }}|{{ i | string }}|{{ s | safe }}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}|{{ d.keys() | list }}|{{ d.values() | list }}|{{ d.get('a') }}|{{ d.get('q') }}|{{ d.get('q', 4) }}
{{ s is string }}|{{ d is mapping }}|{{ l is iterable }}|{{ s is iterable }}|{{ i is iterable }}|{{ l is sequence }}|{{ n is none }}|{{ i is number }}|{{ t is number }}
{{ t is boolean }}|{{ i is integer }}|{{ t is integer }}|{{ x is float }}|{{ missing is defined }}|{{ missing is undefined }}|{{ d.q is defined }}|{{ n is defined }}
{{ 3 is odd }}|{{ 3 is even }}|{{ 9 is divisibleby 3 }}|{{ 9 is divisibleby(4) }}|{{ 3 is eq 3 }}|{{ 3 is not eq 3 }}|{{ 3 is in nums }}|{{ 2 is gt(1) }}|{{ t is true }}|{{ f is false }}
{{ missing is string }}|{{ missing is iterable }}|{{ missing is mapping }}|{{ big is integer }}|{{ big is number }}|{{ not missing is defined }}
{{ range(3) | list }}|{{ range(1, 4) | list }}|{{ range(5, 0, -2) | list }}|{{ dict(a=1, b='x') }}
{{ strftime_now('%Y-%m-%d') }}|{{ strftime_now('%d %B %Y %H:%M:%S') }}|{{ strftime_now('%a %b %-d, %I:%M %p, day %j, %A %y %%') }}
{% for a in nums %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }},{% endfor %}
{% for a in nums %}{{ loop.previtem }}-{{ loop.nextitem }},{% endfor %}|{% for a in [] %}x{% else %}none{% endfor %}|{% for a in missing %}x{% endfor %}
{% for a in nums if a > 1 %}{{ loop.index }}:{{ a }} {% endfor %}|{% for c in 'a\u00e9' %}[{{ c }}]{% endfor %}|{% for a, b in nested %}{{ a }}+{{ b }};{% endfor %}
{% for a in range(10) %}{% if a == 2 %}{% continue %}{% endif %}{% if a == 5 %}{% break %}{% endif %}{{ a }}{% endfor %}
{% for a in nums %}{% for b in nums %}{{ loop.index }}{% endfor %}{{ loop.index }},{% endfor %}
{% set y = 1 %}{% for a in nums %}{{ y }}{% set y = a %}{{ y }}{% endfor %}{{ y }}
{% set ns = namespace(c=0, s='') %}{% for a in nums %}{% set ns.c = ns.c + a %}{% set ns.s = ns.s ~ a %}{% endfor %}{{ ns.c }}{{ ns.s }}{{ ns.q }}
{% if f %}{% set z = 1 %}{% else %}{% set z = 2 %}{% endif %}{{ z }}|{% set a, b = 1, 2 %}{{ a }}{{ b }}|{% set q %}text {{ i }}{% endset %}[{{ q }}]
{% macro m(a, b='B', c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}|{{ m(1, 2) }}|{{ m(b=3, a=4) }}|{{ m() }}
{% macro m(a) %}{% if a > 0 %}{{ a }}{{ m(a - 1) }}{% endif %}{% endmacro %}{{ m(5) }}|{{ m is defined }}
{% macro m() %}{{ later }}{% endmacro %}{% set later = 'L' %}{{ m() }}|{{ m() | upper }}|{{ m() ~ '!' }}
{% if s %}yes{% elif f %}no{% else %}never{% endif %}|{% if f %}a{% elif t %}b{% endif %}|{% if not n and i > 3 or f %}c{% endif %}
a {# comment #} b{#- c -#} d
{{- s -}}  {{ i }}   {{- x }}
{%- if t -%}   z   {%- endif -%}
  {%+ if t %} w {%+ endif %} v
{{ "a\tb\"c\'d\\e\x41\u00e9\101\q" }}|{{ 'it''s' }}|{{ "{{ x }}" }}|{{ '%}' }}
{{ 1_000 }}|{{ 10.5e1 }}|{{ {'a': {'b': 1}} }}|{{ {'a': 1}['a'] }}|{{ [1, [2, 3]][1][0] }}|{{ 'abc'[1] }}
{{ i in [7] and s }}|{{ 1 in [1] == true }}|{{ not 1 == 2 }}|{{ not (1 == 1) }}|{{ s | length > 5 }}|{{ s | lower | length + 1 }}
{{ d.items() | list | length }}|{{ 'a' ~ 'b' | upper }}|{{ ('a' ~ 'b') | upper }}|{{ -2 | abs }}|{{ 5 - 2 | abs }}
{{ people[0].name ~ people[-1]['name'] }}|{{ people[:1] }}|{{ people | length }}
{% set messages = people %}{% if messages[0].name == 'bo' %}{% set messages = messages[1:] %}{% endif %}{{ messages | length }}
{% generation %}g{{ i }}{% endgeneration %}h
{{ s.split(' ')[-1] | trim }}|{{ '</think>' in s }}|{{ 'a</think>b'.split('</think>')[-1] }}
{{ [1, 2,] }}|{{ {'a': 1,} }}|{{ (1, 2,) }}|{{ d.get('c', {}).get('k', [])[1] }}
{{ nums == [3, 1, 2] }}|{{ nums != [3] }}|{{ (1, 2) == [1, 2] }}|{{ none == none }}|{{ missing == missing2 }}|{{ 'a' == 1 }}
{{ x * 2 == 3 }}|{{ l[1:3][0] ~ l[-2:] }}
"""

MULTILINE_TEMPLATES = [
    "  {% if t %}\n  x\n  {% endif %}\n  y\n",
    "{% if t +%}\n  keep\n{% endif %}\n",
    "{{ s -}}\n  a\n {%+ if t %}\n b{% endif +%}\n c\n  {#+ d +#}\n e",
    "a\n  {{ s }}\n  {%- set q = 1 %}\n  {% set r = 2 %}\n{{ q }}{{ r }}",
    "a\n{% if true %}\nb\n{% endif %}\nc\n",
    "a\n  {% if true %}  \n  b\n  {%- endif %}\n\n  c\n\n",
    "{% for x in [1, 2] %}\n  - {{ x }}\n{% endfor %}\nend",
    "{% for x in [1, 2] -%}\n  - {{ x }}\n{% endfor -%}\n\n  end",
    "\r\n{% set a = 1 %}\r\nb\r{{ a }}\n",
    "  {# comment #}\n  {#- comment -#}  x\n\t{% if true %}\ty{% endif %}\n",
    "{% if true %}\n\n{% endif %}x\n  {{ 1 }}\n  {% if true %}{{ 2 }}{% endif %}\n",
    "x {%- set a = '\n' -%} y{{ a }}z",
    "{%- if true %}\n    indented\n{%- endif %}",
    "",
    "\n",
    "\n\n",
    "{{ 1 }}\n",
]

ERROR_TEMPLATES = r"""
{{ missing.foo }}
{{ missing['foo'] }}
{{ missing() }}
{{ missing + 1 }}
{{ 'a' + 1 }}
{{ 1 + 'a' }}
{{ [1] + 'a' }}
{{ none + 'a' }}
{{ 1 < 'a' }}
{{ none < 1 }}
{{ missing < 1 }}
{{ 1 in 5 }}
{{ 1 in 'a' }}
{{ none in 'a' }}
{{ missing | tojson }}
{{ 5 | length }}
{{ n | length }}
{% for a in 5 %}{% endfor %}
{% for a in n %}{% endfor %}
{% for a, b in nums %}{% endfor %}
{{ s.items() }}
{{ n.items() }}
{{ d.split() }}
{{ missing.items() }}
{{ i() }}
{{ 1 // 0 }}
{{ 1 % 0 }}
{{ raise_exception('no') }}
{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{% endmacro %}{{ m(b=2) }}
{{ nums[::0] }}
{{ 'a'.split('') }}
{{ ','.join([1]) }}
{{ -s }}
{{ n[1:] }}
{{ [1, 'a'] | sort }}
{{ s.startswith(1) }}
{% set q.x = 1 %}
{% set s.x = 1 %}
{{ range() }}
{{ range(1, 2, 0) }}
{{ s.replace('a') }}
"""


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def main():
    env = environment()
    templates = [t for t in OUTPUT_TEMPLATES.split("\n") if t] + MULTILINE_TEMPLATES
    cases = []
    for template in templates + [t for t in ERROR_TEMPLATES.split("\n") if t]:
        try:
            cases.append({"template": template, "output": env.from_string(template).render(**CONTEXT)})
        except Exception:  # whatever it is, the template does not render
            cases.append({"template": template})
    document = {"jinja2": jinja2.__version__, "now": [NOW.year, NOW.month, NOW.day, NOW.hour, NOW.minute, NOW.second],
                "context": CONTEXT, "cases": cases}
    print(json.dumps(document, ensure_ascii=False, indent=1))


main()
