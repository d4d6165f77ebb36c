#include "workloads/job/plan/job_document.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "platforms/description_json.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/job/plan/workers_of_generation.hpp"

namespace tandem {

nlohmann::json job_document(const Job& job) {
  nlohmann::json document = {{"experiment", to_json(whole_experiment(job))},
                             {"platform", platforms::to_json(job.spec().platform)}};
  if (const SampleSet* samples = job.data().samples()) document["manifest"] = samples->digest();
  if (const auto* plan = job.exchange().all_reduce()) document["all_reduce"] = to_json(*plan);
  if (const auto* point = job.resume()) document["resume"] = to_json(*point);
  if (const auto* generation = job.generation()) document["generation"] = to_json(*generation);
  return document;
}

namespace {

/// With another manifest, ids would mean other samples.
void expect_manifest(const DataPlan& data, const std::string& expected) {
  const std::string found = data.samples() == nullptr ? "none" : data.samples()->digest();
  if (found != expected)
    throw ConfigError("data set '" + data.info().name + "': expected the manifest " + expected +
                      " of when the job was prepared, found " + found +
                      ": files were added, removed or changed, or this machine has others");
}

}  // namespace

Job job_from_document(const nlohmann::json& document, std::string directory, std::string data_memory) {
  JobSpec spec{experiment_from_json(document.at("experiment")),
               platforms::description_from_json(document.at("platform")), std::move(directory),
               std::move(data_memory)};
  std::optional<Generation> generation;
  if (document.contains("generation")) generation = generation_from_json(document["generation"]);
  if (generation && !generation->hosts.empty())
    spec.experiment = with_workers_in(std::move(spec.experiment), generation->slots);
  std::optional<AllReducePlan> all_reduce;
  if (spec.experiment.sync.over == sync::Route::all_reduce)
    all_reduce = all_reduce_plan_from_json(document.at("all_reduce"));
  Job job(std::move(spec), std::move(all_reduce));
  if (document.contains("manifest")) expect_manifest(job.data(), document["manifest"].get<std::string>());
  if (document.contains("resume")) job.resume_from(resume_point_from_json(document["resume"]));
  if (generation) job.set_generation(std::move(*generation));
  return job;
}

void write_document(const std::string& path, const Job& job) {
  write_whole_file(path, job_document(job).dump(1) + '\n');
}

}  // namespace tandem
