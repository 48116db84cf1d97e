/// Prevents the optimizer from removing the computation of a value.
@inline(never)
@_optimize(none)
func keep<T>(_ value: T) {}
