/// The middle value, or the mean of the middle two; nil without values.
func median<Values: Collection<Double>>(_ values: Values) -> Double? {
  guard !values.isEmpty else { return nil }
  let sorted = values.sorted()
  let middle = sorted.count / 2
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
