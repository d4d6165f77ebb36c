#include "workloads/job/check/catalogues.hpp"

#include "policies/cache/policy.hpp"
#include "policies/checkpointing/policy.hpp"
#include "policies/collectives/schedule.hpp"
#include "policies/compression/codec.hpp"
#include "policies/lifetimes/catalog.hpp"
#include "policies/provisioning/policy.hpp"
#include "policies/recovery/policy.hpp"
#include "policies/sampling/partition.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/sharding/policy.hpp"
#include "policies/sync/policy.hpp"
#include "workloads/data/dataset.hpp"
#include "workloads/job/plan/all_reduce_plan.hpp"
#include "workloads/learner/learner.hpp"

namespace tandem {
namespace {

template <class Factory>
std::vector<NameCatalog::Entry> without_factories(const Catalog<Factory>& catalog) {
  std::vector<NameCatalog::Entry> entries;
  for (const auto& entry : catalog.entries())
    entries.push_back({entry.name, entry.summary, entry.paper, entry.options, {}, entry.aliases});
  return entries;
}

template <class Factory>
NameCatalog names_of(const Catalog<Factory>& catalog) {
  return {catalog.kind(), without_factories(catalog)};
}

NameCatalog models() {
  auto entries = without_factories(model_catalog());
  entries.push_back({"synthetic",
                     "a model given only by its sizes (workload.synthetic_*); modelled math only",
                     "",
                     {},
                     {}});
  entries.push_back({"FILE.pt", "any network saved as TorchScript (torch.jit.save)", "", {}, {}});
  return {model_catalog().kind(), std::move(entries)};
}

NameCatalog all_reduces() {
  auto entries = without_factories(collectives::catalog());
  entries.push_back({native_all_reduce,
                     "MPI's own (MPI_Iallreduce, MPI_Iallgather), or NCCL's if every worker has its own GPU; "
                     "a simulation takes its time from the calibration",
                     "",
                     {},
                     {}});
  entries.push_back({cheapest_all_reduce,
                     "for each bucket, the algorithm with the least predicted time on the platform",
                     "",
                     {},
                     {}});
  return {collectives::catalog().kind(), std::move(entries)};
}

}  // namespace

NameCatalog catalogue_of(Names names) {
  switch (names) {
    case Names::model:
      return models();
    case Names::dataset:
      return names_of(dataset_catalog());
    case Names::sync:
      return names_of(sync::catalog());
    case Names::collective:
      return all_reduces();
    case Names::compression:
      return names_of(compression::catalog());
    case Names::sharding:
      return names_of(sharding::catalog());
    case Names::trace_cache:
      return names_of(cache::trace_catalog());
    case Names::cache:
      return names_of(cache::catalog());
    case Names::sampling:
      return names_of(sampling::samplers());
    case Names::split:
      return names_of(sampling::splits());
    case Names::lifetime:
      return names_of(lifetimes::catalog());
    case Names::checkpointing:
      return names_of(checkpointing::catalog());
    case Names::recovery:
      return names_of(recovery::catalog());
    case Names::provisioning:
      return names_of(provisioning::catalog());
    case Names::none:
      break;
  }
  fail_check("a catalogue of names", __FILE__, __LINE__, "Names::none");
}

std::string entry_name(Names names, const std::string& text) {
  return names == Names::model ? model_entry_name(text) : text;
}

std::string way_without_catalogue(Names names) {
  if (names != Names::model) return "";
  return "another model is given by its sizes (workload.model: synthetic, with "
         "workload.synthetic_parameters, "
         "workload.synthetic_forward and workload.synthetic_backward), or as a TorchScript file (FILE.pt)";
}

}  // namespace tandem
