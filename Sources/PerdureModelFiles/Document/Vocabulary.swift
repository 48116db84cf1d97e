// The elements and attributes of model files. The order is the one in which Xcode writes them.

/// The names of the format.
enum Vocabulary {
  /// The attributes of each element, in writing order.
  static let attributes: [String: [String]] = [
    "model": [
      "name", "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion",
      "sourceLanguage", "usedWithCloudKit", "usedWithSwiftData", "userDefinedModelVersionIdentifier",
      "macOSVersion", "iOSVersion",
    ],
    "entity": [
      "name", "representedClassName", "isAbstract", "parentEntity", "elementID", "versionHashModifier",
      "syncable", "codeGenerationType", "coreSpotlightDisplayNameExpression",
    ],
    "attribute": [
      "name", "optional", "transient", "attributeType", "allowsCloudEncryption", "valueTransformerName",
      "allowsExternalBinaryDataStorage", "minValueString", "minDateTimeInterval",
      "defaultDateTimeInterval", "maxDateTimeInterval", "derived", "composite", "spotlightIndexingEnabled",
      "storedInTruthFile", "customClassName", "maxValueString", "regularExpressionString",
      "derivationExpression", "defaultValueString", "usesScalarValueType", "indexed",
      "preserveAfterDeletion", "elementID", "versionHashModifier", "syncable",
    ],
    "relationship": [
      "name", "optional", "transient", "toMany", "minCount", "maxCount", "deletionRule", "ordered",
      "destinationEntity", "inverseName", "inverseEntity", "indexed", "spotlightIndexingEnabled",
      "storedInTruthFile", "elementID", "versionHashModifier", "syncable",
    ],
    "fetchedProperty": ["name", "optional", "transient", "syncable", FetchSetting.isLive],
    "fetchRequest": [
      "name", "entity", "predicateString", "fetchLimit", "fetchBatchSize", "resultType", "includeSubentities",
      "includesSubentities", "includePropertyValues", "includesPropertyValues", "includesPendingChanges",
      "includePendingChanges", "returnObjectsAsFaults", "returnsObjectsAsFaults", "returnDistinctResults",
      "returnsDistinctResults", FetchSetting.order, FetchSetting.offset, FetchSetting.prefetching,
    ],
    "fetchIndex": ["name", "partialIndexPredicate"],
    "fetchIndexElement": ["property", "expression", "expressionType", "type", "order"],
    "compoundIndexes": [], "compoundIndex": [], "index": ["value"],
    "uniquenessConstraints": [], "uniquenessConstraint": [], "constraint": ["value"],
    "configuration": ["name", "usedWithCloudKit"], "memberEntity": ["name"],
    "composite": ["name"],
    "userInfo": [], "entry": ["key", "value"],
    "elements": [], "element": ["name", "positionX", "positionY", "width", "height"],
  ]

  /// Flags and settings for services of Apple's systems. They have no effect in Perdure. The key is
  /// the name of the attribute, and the value is the name of the service.
  static let services = [
    "usedWithCloudKit": "CloudKit", "allowsCloudEncryption": "CloudKit",
    "spotlightIndexingEnabled": "Spotlight", "storedInTruthFile": "Spotlight",
    "coreSpotlightDisplayNameExpression": "Spotlight",
  ]

  /// The child elements of each element, in writing order.
  static let children: [String: [String]] = [
    "model": ["entity", "fetchRequest", "configuration", "composite", "elements"],
    "entity": [
      "attribute", "relationship", "fetchedProperty", "compoundIndexes", "fetchIndex",
      "uniquenessConstraints", "userInfo",
    ],
    "attribute": ["userInfo"],
    "relationship": ["userInfo"],
    "fetchedProperty": ["fetchRequest", "userInfo"],
    "fetchIndex": ["fetchIndexElement"],
    "compoundIndexes": ["compoundIndex"],
    "compoundIndex": ["index"],
    "uniquenessConstraints": ["uniquenessConstraint"],
    "uniquenessConstraint": ["constraint"],
    "configuration": ["memberEntity"],
    "composite": ["attribute"],
    "userInfo": ["entry"],
    "elements": ["element"],
  ]

  /// The elements that Xcode sorts by name.
  static let sortedKinds: Set<String> = [
    "entity", "attribute", "relationship", "fetchedProperty", "fetchRequest", "configuration", "composite",
  ]
}
