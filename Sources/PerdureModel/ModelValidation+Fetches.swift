// Checks fetch request templates and fetched properties.

extension ModelValidation {
  /// Whether a fetched property of the entity at `index`, declared or inherited, has this name.
  func isFetchedProperty(_ name: String, of index: Int) -> Bool {
    var current: Int? = index
    while let entity = current {
      if entities[entity].fetchedProperties.contains(where: { $0.name == name }) { return true }
      current = parents[entity]
    }
    return false
  }

  mutating func checkFetchedProperties() {
    if !isStored { checkFetchedNames() }
    for (index, entity) in entities.enumerated() {
      for property in entity.fetchedProperties {
        let source = FetchRequestCheck.Source(entity: index, userInfo: property.userInfo)
        var checked = FetchRequestCheck(property.fetchRequest, of: source, in: self).result
        if property.fetchRequest.resultType != .managedObjects {
          checked.flaws.append(
            FetchRequestFlaw(
              message: "The results of a fetched property are objects.",
              remedy: "Set the result type to managedObjects."))
        }
        keep(fetched: checked, property.name, of: index)
      }
    }
  }

  mutating func checkTemplates(_ templates: [FetchRequestTemplate]) {
    for template in templates {
      if !(1...ModelLimits.nameLengthBytes).contains(template.name.utf8.count) {
        error(
          .fetchTemplate, template.request.entityName, template.name,
          "The name of a fetch request template is empty or too long.",
          "Use 1 to \(ModelLimits.nameLengthBytes) bytes.")
      }
      if templateRequests[template.name] != nil {
        error(
          .fetchTemplate, template.request.entityName, template.name,
          "Two fetch request templates are called \"\(template.name)\".", "Rename one of them.")
      }
      keep(template: FetchRequestCheck(template.request, of: nil, in: self).result, template)
    }
  }

  private mutating func keep(fetched checked: CheckedFetchRequest, _ name: String, of index: Int) {
    if checksFetches {
      for flaw in checked.flaws {
        error(.fetchedProperty, entities[index].name, name, flaw.message, flaw.remedy)
      }
    }
    fetchedRequests[entities[index].name, default: [:]][name] = checked
  }

  private mutating func keep(template checked: CheckedFetchRequest, _ template: FetchRequestTemplate) {
    if checksFetches {
      for flaw in checked.flaws {
        error(.fetchTemplate, template.request.entityName, template.name, flaw.message, flaw.remedy)
      }
    }
    templateRequests[template.name] = checked
  }

  // MARK: Names

  private mutating func checkFetchedNames() {
    var inherited: [[String: Int]] = Array(repeating: [:], count: entities.count)
    for index in ancestorsFirst() {
      let entity = entities[index]
      let above = parents[index].map { inherited[$0] } ?? [:]
      for property in entity.properties {
        noteRedefined(property.name, entity.name, declaredBy: above[property.name])
      }
      var seen = Set(entity.properties.map(\.name))
      for property in entity.fetchedProperties {
        let name = property.name
        checkName(ofProperty: name, entity.name)
        if !seen.insert(name).inserted {
          noteDuplicate(entity.name, name)
        } else {
          noteRedefined(
            name, entity.name, declaredBy: above[name] ?? visible[index][name]?.declaringEntity)
        }
      }
      inherited[index] = entity.fetchedProperties.reduce(into: above) { $0[$1.name] = index }
    }
  }

  private mutating func noteRedefined(_ name: String, _ entity: String, declaredBy index: Int?) {
    guard let index else { return }
    error(
      .redefinedProperty, entity, name, "The property is inherited from \"\(entities[index].name)\".",
      "Rename it, or remove it here.")
  }
}
