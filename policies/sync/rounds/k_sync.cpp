#include "policies/sync/rounds/k_sync.hpp"

#include "policies/sync/common/barrier.hpp"
#include "policies/sync/common/change_average.hpp"
#include "policies/sync/common/push_server.hpp"

namespace tandem::sync {
namespace {

class KSyncServer : public PushServer {
 public:
  KSyncServer(int workers, std::int64_t k) : barrier_(workers, k) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    if (event.version < version_) return drop(event, decisions);
    decisions.emplace_back(Accept{event.worker, weight_of("samples", event)});  // as BSP weighs
    barrier_.arrive(event.worker);
    end_round_if_complete(decisions);
  }
  void on_left(const Left& event, ServerDecisions& decisions) override {
    barrier_.leave(event.worker);
    end_round_if_complete(decisions);
  }

 private:
  void end_round_if_complete(ServerDecisions& decisions) {
    if (!barrier_.complete()) return;
    barrier_.release(decisions);
    ++version_;
  }

  Barrier barrier_;
  int version_ = 0;
};

}  // namespace

std::unique_ptr<ServerPolicy> make_k_sync_server(const Setting& setting) {
  const std::int64_t k = or_all_workers(setting, "k");
  if (k > setting.workers)
    throw OptionError("k-sync", "k",
                      "at most the number of workers (" + std::to_string(setting.workers) + ")", k);
  return std::make_unique<KSyncServer>(setting.workers, k);
}

}  // namespace tandem::sync
