import Perdure
import PerdureModel
import PerdurePredicates
package import PerdureProving

/// All decoders: those of the engine and of the graph.
package enum Decoders {
  package static let all = EngineDecoders.all + GraphDecoders.all
}

/// The decoders of the graph's data in a store, and of texts that users provide.
package enum GraphDecoders {
  package static let all = [row, model, predicate, scanner, message]

  private static let kinds = FieldKind.allCases.filter { $0 != .absent }

  /// Two slots of each kind, so that several properties have variable lengths.
  private static let layouts: RowLayouts = {
    let columns = (kinds + kinds).enumerated().map { RowColumn(property: UInt32($0 + 1), kind: $1) }
    let layout = RowLayout(number: 7, columns: columns, slots: columns.map(\.property))
    return RowLayouts(current: layout, all: [layout])
  }()

  static let row = HostileDecoder(
    "row", throwing: RowError.self,
    samples: {
      let values: [Value] = [.null, .integer(5), .string("a name")]
      return [
        RowWriter(layouts).row { _ in .value(.null) },
        RowWriter(layouts).row { slot in
          switch kinds[slot % kinds.count] {
          case .string: .value(values[2])
          case .int16, .int32, .int64: .value(values[1])
          default: .value(.null)
          }
        },
      ]
    },
    decode: { bytes in
      let row = try RowView(checking: bytes, layouts)
      for slot in 0..<(2 * kinds.count) { _ = row.value(slot) }
    })

  static let model = HostileDecoder(
    "stored-model", cost: 4, throwing: ModelError.self,
    samples: {
      let company = EntityDescription(
        "Company",
        properties: [
          .string("name", optional: false),
          .toMany("workers", "Worker", inverse: "company", deleteRule: .cascade),
          .derived("workerCount", "workers.@count"),
        ], indexes: [FetchIndexDescription(on: "workerCount")])
      let worker = EntityDescription(
        "Worker",
        properties: [
          .string("email", optional: false), .double("salary", default: 1),
          .toOne("company", "Company", inverse: "workers"),
        ], uniquenessConstraints: [["email"]])
      let asked = try ValidationRule.predicate(FetchPredicate(format: "SELF != 3"), message: "must not be 3")
      let ruled = EntityDescription(
        "Ruled",
        properties: [
          .int16("n", rules: [.minimum(1), .maximum(9), asked]),
          .string("s", rules: [.minimumLength(1), .maximumLength(9), .pattern("a+")]), .transient("t"),
          .date("d", default: .now), .uuid("u", default: .newUUID),
        ],
        indexes: [
          FetchIndexDescription("i", [.init("n")], partialPredicate: try FetchPredicate(format: "n > 3"))
        ], userInfo: ["k": "v", "l": "w"], versionHashModifier: "2")
      let full = try ManagedObjectModel(
        [company, worker, ruled], configurations: ["A": ["Ruled"]], versionIdentifiers: ["1", "2"])
      let stored = try StoredModel.initial(for: full)
      let grown = try StoredModel.initial(for: ManagedObjectModel([company, worker])).adopting(full, at: 7)
      // Adds one more section after the others, and increases the count of sections. A reader may
      // skip this section.
      var later = stored.encode() + [32, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3]
      later[6] += 1
      return [
        try StoredModel.initial(for: ManagedObjectModel([company, worker])).encode(), stored.encode(),
        grown.stored.encode(), later, withoutSections(stored.encode()),
      ]
    },
    decode: { bytes in
      let stored = try StoredModel(decoding: Array(bytes))
      guard try StoredModel(decoding: stored.encode()).encode() == stored.encode() else {
        throw Violation("a decoded model differs after it is encoded and decoded again")
      }
    })

  /// The bytes of version 4 with the same contents: sections 1 to 4 without their headers.
  private static func withoutSections(_ bytes: [UInt8]) -> [UInt8] {
    var contents = Array(bytes[..<4]) + [4, 0]
    var offset = 10
    for _ in 1...4 {
      let length = bytes[offset + 4..<offset + 8].reversed().reduce(0) { $0 << 8 | Int($1) }
      contents += bytes[offset + 8..<offset + 8 + length]
      offset += 8 + length
    }
    return contents
  }

  static let predicate = HostileDecoder(
    "predicate", cost: 8, throwing: PredicateSyntaxError.self,
    samples: {
      [
        "name == 'Ada' AND age >= 30", "ANY friends.name BEGINSWITH[cd] $x OR NOT (a IN {1, 2.5, 'b'})",
        "SUBQUERY(workers, $w, $w.salary > 1e3).@count == 2", "a BETWEEN {1, 2} && b[FIRST] MATCHES 'x.*'",
        "TERNARY(a == nil, 1, 2) + abs(-3) ** 2 == -0x1F", "TRUEPREDICATE", "%K == %@ AND SELF != NULL",
      ].map { Array($0.utf8) }
    },
    decode: { bytes in
      let predicate = try FetchPredicate(format: String(decoding: bytes, as: UTF8.self))
      let text = predicate.predicateFormat
      guard let again = try? FetchPredicate(format: text) else {
        throw Violation("the printed form of a parsed predicate cannot be parsed: \(text)")
      }
      guard again.predicateFormat == text else {
        throw Violation("the printed form is parsed as another predicate: \(text)")
      }
      _ = predicate.simplified().hashValue
    })

  /// The input of the macros, which is source text. This target cannot import the plugin. So it
  /// compiles the plugin's folders `Scanner`, `Wire` and others.
  static let scanner = HostileDecoder(
    "macro-scanner", cost: 4, throwing: CancellationError.self,
    samples: {
      [
        "@Entity(\"a {\") public final class C<T>: Mod.Base<A, B> where T: X {\n  @Attribute var a: String? = nil\n}",
        "class C { var a: [String: Int] = [:], b = #\"raw \\#(x) \"#; @Transient lazy var c: Int = { 1 }() }",
        "final class D: ManagedObject { #if X\n var e: Int { get { 1 } set { } }\n #endif /* /* */ */ static let f = 1 }",
        "var x: Set<Worker> = [], y: (Int, String)? { didSet { } }",
      ].map { Array($0.utf8) }
    },
    decode: { bytes in
      let text = String(decoding: bytes, as: UTF8.self)
      var (type, member) = (DeclarationScanner(text), DeclarationScanner(text))
      _ = type.typeDeclaration()
      _ = member.member(isConditional: false)
      // Each byte must be read only a few times, for any nesting of brackets. Otherwise a long
      // source takes too long.
      guard type.steps + member.steps <= 100 + 12 * text.utf8.count else {
        throw Violation("\(type.steps) and \(member.steps) steps for \(text.utf8.count) bytes")
      }
    })

  /// The compiler's requests to the macros: JSON frames that contain declarations.
  static let message = HostileDecoder(
    "macro-message", cost: 8, throwing: MessageError.self,
    samples: {
      func request(_ type: String, _ role: String, _ attribute: String, _ declaration: String) -> JSON {
        [
          "expandAttachedMacro": [
            "macro": ["moduleName": "PerdureMacros", "typeName": .string(type), "name": "M"],
            "macroRole": .string(role),
            "attributeSyntax": ["source": .string(attribute), "kind": "attribute"],
            "declSyntax": [
              "source": .string(declaration), "location": ["fileName": "f", "offset": 5, "line": 1],
            ],
            "extendedTypeSyntax": ["source": "A.B"],
          ]
        ]
      }
      let hello: JSON = ["getCapability": ["capability": ["protocolVersion": 7]]]
      let type = "final class A: B {\n @Attribute(.unique) var a: String? = \"\\u{1F}\"\n var b: ToMany<A> }"
      let composite = "struct B {\n @Attribute(.length(1...3)) var a: C?\n @Transient let c = 1\n var d: E }"
      return [
        MessageReader.frame(hello)
          + MessageReader.frame(request("EntityMacro", "member", "@Entity(\"a\")", type)),
        MessageReader.frame(request("EntityMacro", "memberAttribute", "@Entity", "let a: Int = 5")),
        MessageReader.frame(request("ManagedMacro", "accessor", "@Managed", "var a: Int = 5 { didSet {} }")),
        MessageReader.frame(request("CompositeMacro", "extension", "@Composite", composite)),
      ]
    },
    decode: { bytes in
      var rest = Array(bytes)[...]
      let reader = MessageReader { count in
        let piece = rest.prefix(count)
        rest = rest.dropFirst(piece.count)
        return Array(piece)
      }
      var conversation = Conversation()
      while let message = try reader.next() {
        guard let reply = conversation.answer(Request(message)) else { return }
        let frame = MessageReader.frame(reply.json)
        guard try JSONReader.read(Array(frame.dropFirst(8))) == reply.json else {
          throw Violation("a reply differs after it is encoded and decoded")
        }
      }
    })
}
