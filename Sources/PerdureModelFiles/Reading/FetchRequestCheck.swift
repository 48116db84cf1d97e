import PerdurePredicates

/// Checks fetch requests of model files: templates, and those of fetched properties.
struct FetchRequestCheck {
  let entityNames: Set<String>

  struct Flaw {
    let kind: ModelFileProblem.Kind
    let message: String
    let remedy: String
  }

  func flaws(of element: ModelElement) -> [Flaw] {
    var flaws: [Flaw] = []
    let entity = element["entity"] ?? ""
    if entity.isEmpty {
      flaws.append(
        Flaw(kind: .missing, message: "The fetch request has no entity.", remedy: "Write entity=\"…\"."))
    } else if !entityNames.contains(entity) {
      flaws.append(
        Flaw(
          kind: .reference, message: "The entity \"\(entity)\" of the fetch request is not in the model.",
          remedy: "Add it, or correct the name.\(NearMisses.question(entity, in: entityNames))"))
    }
    guard let text = element["predicateString"], !text.isEmpty else { return flaws }
    do {
      _ = try FetchPredicate(format: text)
    } catch {
      flaws.append(
        Flaw(
          kind: .predicate, message: "The predicate of the fetch request cannot be parsed. \(error)",
          remedy: "Correct the predicate."))
    }
    return flaws
  }
}
