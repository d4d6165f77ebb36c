// The list of cache policies, in the order in which `tandem list cache` prints them.
#include "policies/cache/policies.hpp"

namespace tandem::cache {
namespace {

template <class Has>
std::vector<Catalog<Factory>::Entry> those_that(const Has& has) {
  std::vector<Catalog<Factory>::Entry> chosen;
  for (const auto& entry : {lru(),
                            minio(),
                            fifo(),
                            lfu(),
                            slru(),
                            clock(),
                            two_q(),
                            arc(),
                            lirs(),
                            gdsf(),
                            lhd(),
                            w_tinylfu(),
                            s3_fifo(),
                            sieve(),
                            random(),
                            belady(),
                            partitioned_minio(),
                            hoard(),
                            quiver(),
                            shade(),
                            nopfs(),
                            deepio(),
                            locality_aware(),
                            ods(),
                            icache(),
                            foresight()})
    if (has(entry.make)) chosen.push_back(entry);
  return chosen;
}

}  // namespace

std::string describe(const Needs& needs) {
  std::string text;
  for (const auto& [is_needed, what] : {std::pair{needs.manifest, "the sizes of all samples"},
                                        {needs.ahead, "the rest of each epoch"},
                                        {needs.importance, "losses"},
                                        {needs.lists, "the lists of all nodes"},
                                        {needs.plan, "all lists of the run"},
                                        {needs.rates, "the rates of tiers, peers and stores"},
                                        {needs.peers, "reads from other nodes"},
                                        {needs.idle, "reads in the background"},
                                        {needs.labels, "the classes of samples"}})
    if (is_needed) text += (text.empty() ? "" : ", ") + std::string(what);
  return text;
}

const Catalog<Factory>& catalog() {
  static const Catalog<Factory> table("cache policy",
                                      those_that([](const Factory& make) { return make.node != nullptr; }));
  return table;
}

const Catalog<Factory>& trace_catalog() {
  static const Catalog<Factory> table("cache policy for traces",
                                      those_that([](const Factory& make) { return make.replay != nullptr; }));
  return table;
}

}  // namespace tandem::cache
