public import PerdureLog

/// How much a save survives once it has returned: the engine's own ladder.
public typealias Durability = PerdureLog.Durability
