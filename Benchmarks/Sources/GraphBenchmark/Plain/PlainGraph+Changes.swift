extension PlainGraph {
  func insert() -> Answer {
    var answer = Answer()
    for number in 0..<data.companyCount {
      insertCompany(number)
      answer.addChanges(GraphData.companySize)
    }
    return answer
  }

  private func insertCompany(_ number: Int) {
    let company = PlainCompany(name: data.companyName(number))
    companies[number] = company
    company.projects = (0..<GraphData.projectsPerCompany).map { place in
      PlainProject(title: data.projectTitle(number * GraphData.projectsPerCompany + place))
    }
    for place in 0..<GraphData.companySize {
      let number = number * GraphData.companySize + place
      let worker = PlainWorker(data.workers[number], company: company)
      company.workers.append(worker)
      workers[number] = worker
      workersByEmail[worker.email] = worker
      workersByLastName[worker.lastName, default: []].append(worker)
      worker.manager = data.manager(number).flatMap { workers[$0] }
      worker.manager?.reports.append(worker)
      for project in data.projects(number) {
        let project = company.projects[project % GraphData.projectsPerCompany]
        worker.projects.append(project)
        project.workers.append(worker)
      }
    }
  }

  func change(_ workload: Workload, _ script: Script) -> Answer {
    var answer = Answer()
    switch workload {
    case .updateAll:
      for worker in workers.values { worker.salary += 1 }
      answer.addChanges(workers.count)
    case .findOrCreate:
      for values in script.imports { findOrCreate(values) }
      answer.addChanges(script.imports.count)
    case .updateEach, .updateEachDurable:
      let numbers = workload == .updateEach ? script.updates : script.durableUpdates
      for number in numbers { workers[number]?.salary += 1 }
      answer.addChanges(numbers.count)
    case .moveWorker:
      for (number, company) in script.moves { move(number, to: company) }
      answer.addChanges(script.moves.count)
    case .deleteWorker:
      for number in script.dismissals { dismiss(number) }
      answer.addChanges(script.dismissals.count)
    default:
      for number in script.closures { dissolve(number) }
      answer.addChanges(script.closures.count * GraphData.companySize)
    }
    return answer
  }

  private func findOrCreate(_ values: WorkerValues) {
    guard let company = companies[0] else { return }
    let worker = workersByEmail[values.email] ?? PlainWorker(values, company: company)
    if workersByEmail.updateValue(worker, forKey: worker.email) == nil {
      company.workers.append(worker)
      workers[workers.count] = worker
      workersByLastName[worker.lastName, default: []].append(worker)
    }
    worker.rating += 1
  }

  private func move(_ number: Int, to company: Int) {
    guard let worker = workers[number], let company = companies[company] else { return }
    worker.company.workers.removeAll { $0 === worker }
    worker.company = company
    company.workers.append(worker)
  }

  private func dismiss(_ number: Int) {
    guard let worker = workers.removeValue(forKey: number) else { return }
    forget(worker)
    worker.company.workers.removeAll { $0 === worker }
    take(worker)
  }

  private func dissolve(_ number: Int) {
    guard let company = companies.removeValue(forKey: number) else { return }
    let gone = Set(company.workers.map(ObjectIdentifier.init))
    for worker in company.workers { forget(worker) }
    workers = workers.filter { !gone.contains(ObjectIdentifier($0.value)) }
    for worker in company.workers { take(worker) }
    for project in company.projects {
      for worker in project.workers { worker.projects.removeAll { $0 === project } }
    }
  }

  private func forget(_ worker: PlainWorker) {
    workersByEmail[worker.email] = nil
    workersByLastName[worker.lastName]?.removeAll { $0 === worker }
  }

  /// Removes a worker from the objects that refer to it.
  func take(_ worker: PlainWorker) {
    worker.manager?.reports.removeAll { $0 === worker }
    worker.manager = nil
    for report in worker.reports { report.manager = nil }
    worker.reports = []
    for project in worker.projects { project.workers.removeAll { $0 === worker } }
    worker.projects = []
  }
}
