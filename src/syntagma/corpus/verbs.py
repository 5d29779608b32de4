"""Forms of English verbs."""

from __future__ import annotations

import re

_IRREGULAR = """
    begin began begun, bite bit bitten, blow blew blown, break broke broken, bring brought brought, build built built,
    buy bought bought, catch caught caught, choose chose chosen, cut cut cut, do did done, draw drew drawn, drive drove
    driven, eat ate eaten, feed fed fed, find found found, forget forgot forgotten, forgive forgave forgiven, give gave
    given, grow grew grown, hear heard heard, hide hid hidden, hit hit hit, hold held held, hurt hurt hurt, keep kept
    kept, know knew known, lead led led, leave left left, lose lost lost, make made made, meet met met, overcome
    overcame overcome, overtake overtook overtaken, pay paid paid, put put put, read read read, ride rode ridden, say
    said said, see saw seen, sell sold sold, send sent sent, set set set, shake shook shaken, shoot shot shot, show
    showed shown, sing sang sung, speak spoke spoken, spend spent spent, steal stole stolen, strike struck struck,
    swear swore sworn, take took taken, teach taught taught, tell told told, think thought thought, throw threw thrown,
    understand understood understood, wake woke woken, wear wore worn, win won won, write wrote written"""
_FORMS = [tuple(verb.split()) for verb in _IRREGULAR.split(",")]
_PARTICIPLE = {past: participle for _, past, participle in _FORMS}
_PAST = {participle: past for _, past, participle in _FORMS}


def participle_of(past: str) -> str | None:
    """The past participle for a past tense, or None where it is not known.

    >>> participle_of("wrote"), participle_of("opened"), participle_of("went")
    ('written', 'opened', None)
    """
    return _PARTICIPLE.get(past, past if past.endswith("ed") else None)


def past_of(participle: str) -> str | None:
    """The past tense for a past participle, or None where it is not known.

    >>> past_of("written"), past_of("opened"), past_of("been")
    ('wrote', 'opened', None)
    """
    return _PAST.get(participle, participle if participle.endswith("ed") else None)


def gerund(verb: str) -> str:
    """The form in -ing.

    >>> [gerund(verb) for verb in ("learn", "make", "see", "lie", "run", "begin", "play")]
    ['learning', 'making', 'seeing', 'lying', 'running', 'beginning', 'playing']
    """
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        return verb[:-1] + "ing"
    short = re.fullmatch(r"[^aeiou]*[aeiou][bdgklmnprt]", verb)
    return verb + (verb[-1] if short or verb in ("begin", "forget", "admit", "commit", "prefer") else "") + "ing"
