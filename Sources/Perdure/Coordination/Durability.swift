public import PerdureLog

/// The durability of a save once it has returned: the engine's levels.
public typealias Durability = PerdureLog.Durability
