package import PerdureModelCode
import PerdurePredicates

/// A model whose generated code uses the same attribute types as Xcode's generated code.
package enum DepotModelSource {
  package static let name = "Depot"

  package static var options: ModelCodeOptions {
    var options = ModelCodeOptions()
    options.scalars = .file
    return options
  }

  package static var hints: ModelCodeHints {
    var hints = ModelCodeHints()
    hints.scalarAttributes = Set(
      ["count", "weight", "isOpen", "checked", "filled"].map { "Crate.\($0)" })
    return hints
  }

  package static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel([
      EntityDescription(
        "Crate",
        properties: [
          .string("label", optional: false), .int16("count"), .double("weight"), .boolean("isOpen"),
          .date("checked"), .date("filled", optional: false), .date("emptied"), .int64("limit"),
          .int32("floor", optional: false, default: 1), .uuid("code", optional: false), .binary("picture"),
          .transient("visits", .int64),
        ])
    ])
  }
}
