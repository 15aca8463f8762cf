"""English words that say nothing about what an image shows."""

_STOP_WORDS = """
a an the this that these those some any each every all both either neither no not such other another
i me my mine we us our ours you your yours he him his she her hers it its they them their theirs himself herself
itself themselves who whom whose which what where when while why how
about above across after against along amid among around as at away before behind below beneath beside
besides between beyond by down during for from in inside into near next of off on onto out outside over past
since through to toward towards under underneath until up upon via with within without
and but if nor or so than then though because
am is are was were be been being do does did doing done has have had having can could may might must shall should
will would get gets getting got
very too also just only own same here there more most much many few several lot lots really like except
nothing something anything everything someone somebody anyone anybody everyone everybody sort kind
don isn aren wasn weren doesn didn hasn haven ll re ve
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
