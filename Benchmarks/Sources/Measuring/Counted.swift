// The functions that callgrind recognises by their symbols. They are not optimised, and are in
// another module than their callers. An inlined or specialised copy has another symbol, and is not
// counted.

/// The symbols of the functions below.
package enum CountedSymbols {
  package static let counted = "perdure_counted"
  package static let endOfPart = "perdure_end_of_part"
}

/// Runs a body whose instructions are counted. Outside of it, nothing is counted.
@_silgen_name("perdure_counted")
@inline(never)
@_optimize(none)
package func counted(_ body: () throws -> Void) throws { try body() }

/// Ends a part: callgrind writes the counts since the previous part into a separate file.
@_silgen_name("perdure_end_of_part")
@inline(never)
@_optimize(none)
package func endPart() {}
