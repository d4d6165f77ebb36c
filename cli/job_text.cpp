#include "cli/job_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "cli/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/job_description.hpp"
#include "workloads/job/memory_estimate.hpp"

namespace tandem::cli {
namespace {

constexpr const char* advice =
    "use a smaller workload.batch, fewer workload.train_samples (or data.source: storage), fewer ranks on "
    "the "
    "host, or correct the property <prop id=\"memory\"> (of a GPU: <prop id=\"tandem:device_memory\">) if it "
    "has more";

/// Of the host that lacks most, and how many others there are. Pre: not empty.
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

}  // namespace

void print_job(const Job& job) {
  fmt::print("{}\n", job.spec().experiment.name);
  for (const auto& line : describe_job(job)) fmt::print("  {}\n", line);
  std::fflush(stdout);
  for (const auto& warning : warnings_of(job)) print_warning(warning);
  if (const auto hosts = hosts_without_memory(job); !hosts.empty())
    print_warning(lack_of_memory(hosts) + "; " + advice);
}

void require_memory(const Job& job) {
  if (const auto hosts = hosts_without_memory(job); !hosts.empty())
    throw ConfigError(fmt::format("{}: {}; {}", job.spec().platform.file, lack_of_memory(hosts), advice));
}

}  // namespace tandem::cli
