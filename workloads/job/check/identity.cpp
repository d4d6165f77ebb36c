#include "workloads/job/check/identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/digest.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/job/plan/resume_point.hpp"
#include "workloads/learner/learner.hpp"

namespace tandem {
namespace {

/// Names, places and shapes: of another version of the program, a model of the same name may have others.
std::string digest_of_layout(const ModelDescription& model) {
  Digest digest;
  for (const auto& tensor : model.tensors)
    digest.add(fmt::format("{} {} {} {};", tensor.name, tensor.offset, tensor.elements(), tensor.statistic));
  for (const auto& bucket : model.buckets)
    digest.add(fmt::format("{} {} {};", bucket.offset, bucket.parameters, bucket.exchanged()));
  return digest.text();
}

std::string rank_text(const Job& job, std::size_t rank) {
  if (rank >= job.roster().assignments().size()) return fmt::format("rank {}", rank);
  return fmt::format("rank {} (on host '{}' of the platform)", rank, job.roster().assignments()[rank].host);
}

}  // namespace

std::string digest_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError(path + ": cannot be read");
  Digest digest;
  std::vector<char> chunk(1 << 20);
  while (file.read(chunk.data(), std::ssize(chunk)), file.gcount() > 0)
    digest.add({chunk.data(), static_cast<std::size_t>(file.gcount())});
  return digest.text();
}

JobIdentity identity_of(const Job& job) {
  const auto& workload = job.spec().experiment.workload;
  JobIdentity identity = {{"the program", this_software()}};
  const auto add_file = [&](const std::string& what, const std::string& path) {
    identity.emplace_back(what + " '" + path + "'", digest_of_file(path));
  };
  if (is_script(workload.model)) add_file("the model's file", workload.model);
  identity.emplace_back("the parameters of model '" + job.model().name + "'", digest_of_layout(job.model()));
  if (const std::string& predictor = job.spec().experiment.physics.predictor; !predictor.empty())
    add_file("the predictor of steps", predictor);
  if (const std::string& predictor = job.spec().experiment.physics.commit_predictor; !predictor.empty())
    add_file("the predictor of commits", predictor);
  // Modelled mathematics takes the sizes of the files where a machine has them.
  const DatasetInfo& info = job.data().info();
  identity.emplace_back("the samples of data set '" + info.name + "'",
                        fmt::format("{} and {} for tests", info.train_samples, info.test_samples));
  if (const SampleSet* set = job.data().samples())
    identity.emplace_back("the manifest of data set '" + info.name + "' (names, sizes and classes)",
                          set->digest());
  if (!job.real_math()) return identity;
  // Machines may have it in different folders.
  if (const ResumePoint* from = job.resume())
    identity.emplace_back("the checkpoint", digest_of_file(model_path(*from)));
  else if (!workload.initial.empty())
    add_file("the initial model", workload.initial);
  return identity;
}

std::string to_text(const JobIdentity& identity) { return nlohmann::json(identity).dump(); }

JobIdentity identity_from_text(const std::string& text) {
  return nlohmann::json::parse(text).get<JobIdentity>();
}

void expect_alike(const Job& job, const std::vector<JobIdentity>& ranks) {
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const auto [first, other] = std::ranges::mismatch(ranks.front(), ranks[rank]);
    if (first == ranks.front().end() || other == ranks[rank].end()) continue;
    throw ConfigError(fmt::format("{}: {}: expected the same as on {}, {}, found another, {}",
                                  rank_text(job, rank), other->first, rank_text(job, 0), first->second,
                                  other->second));
  }
}

}  // namespace tandem
