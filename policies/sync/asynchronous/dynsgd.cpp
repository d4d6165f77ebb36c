// DynSGD (Jiang, Cui, Zhang, Yu, SIGMOD 2017). A push that is d updates old is scaled by 1/(d + 1), in the
// loop of SSP. Versions are numbers of updates (the paper's other count, by clocks, is not offered, and its
// constants were not checked); by default no worker is ever held, so it is ASP with scaled updates.
#include "policies/sync/asynchronous/algorithms.hpp"
#include "policies/sync/common/bounded_server.hpp"
#include "policies/sync/common/entry_parts.hpp"

namespace tandem::sync {
namespace {

class DynSgdServer final : public BoundedServer {
 public:
  explicit DynSgdServer(const Setting& setting)
      : BoundedServer(setting.workers, setting.options.integer("staleness")) {}
  void serialise(PolicyState& state) override {
    BoundedServer::serialise(state);
    state.value("version", version_);
  }

 private:
  double scale_of(const Push& event) override {
    const int delay = version_++ - event.version;
    return 1.0 / (delay + 1);
  }

  int version_ = 0;
};

}  // namespace

Algorithm dynsgd() {
  return {
      .name = "dynsgd",
      .summary = "like asp, but a gradient that is d updates old is scaled by 1 / (d + 1)",
      .paper = "Jiang et al., SIGMOD 2017",
      .options = {{.name = "staleness",
                   .summary = "steps that a worker may be ahead of the slowest; by default no worker waits",
                   .default_value = std::int64_t{1'000'000'000},
                   .minimum = 0}},
      .make = gradients_by_arrival<DynSgdServer>(by_clocks())};
}

}  // namespace tandem::sync
