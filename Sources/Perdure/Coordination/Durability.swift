public import PerdureLog

/// How durable a save is when it returns. These are the levels of the engine.
public typealias Durability = PerdureLog.Durability
