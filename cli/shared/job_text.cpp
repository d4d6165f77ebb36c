#include "cli/shared/job_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/check/job_description.hpp"
#include "workloads/job/check/memory_estimate.hpp"

namespace tandem::cli {
namespace {

constexpr const char* advice =
    "use a smaller workload.batch, fewer workload.train_samples (or data.source: storage), fewer ranks on "
    "the "
    "host, or correct the property <prop id=\"memory\"> (of a GPU: <prop id=\"tandem:device_memory\">) if it "
    "has more";

/// The memory that is missing on the host that lacks most, and the number of other hosts that lack some. Pre:
/// not empty.
std::string lack_of_memory(const std::vector<HostMemory>& hosts) {
  const auto& worst = *std::ranges::max_element(
      hosts, {}, [](const HostMemory& host) { return host.needed / host.available; });
  // A host can lack memory of its GPU and its own.
  std::set<std::string> names;
  for (const auto& host : hosts) names.insert(host.host);
  const std::size_t others = names.size() - 1;
  if (others == 0) return to_text(worst);
  return to_text(worst) + fmt::format("; {} other host{} memory", others, others == 1 ? " lacks" : "s lack");
}

void print_all_but_memory(const Job& job) {
  fmt::print("{}\n", job.spec().experiment.name);
  for (const auto& line : describe_job(job)) fmt::print("  {}\n", line);
  std::fflush(stdout);
  for (const auto& note : notes_of(job)) print_note(note);
  for (const auto& warning : warnings_of(job)) print_warning(warning);
}

void warn_of(const std::vector<HostMemory>& hosts) {
  if (!hosts.empty()) print_warning(lack_of_memory(hosts) + "; " + advice);
}

void require_of(const std::vector<HostMemory>& hosts, const std::string& platform) {
  if (!hosts.empty()) throw ConfigError(fmt::format("{}: {}; {}", platform, lack_of_memory(hosts), advice));
}

}  // namespace

void print_job(const Job& job) {
  print_all_but_memory(job);
  warn_of(hosts_without_memory(job));
}

void print_jobs(std::span<const Job> jobs, const JobRanks& ranks) {
  for (const Job& job : jobs) print_all_but_memory(job);
  warn_of(hosts_without_memory(jobs, ranks));
}

void require_memory(const Job& job) { require_of(hosts_without_memory(job), job.spec().platform.file); }

void require_memory(std::span<const Job> jobs, const JobRanks& ranks) {
  require_of(hosts_without_memory(jobs, ranks), jobs.front().spec().platform.file);
}

}  // namespace tandem::cli
