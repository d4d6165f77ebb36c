#include "policies/sync/asynchronous/dynsgd.hpp"

#include "policies/sync/common/bounded_server.hpp"

namespace tandem::sync {
namespace {

class DynSgdServer : public BoundedServer {
 public:
  using BoundedServer::BoundedServer;

 private:
  double scale_of(const Push& event) override {
    const int delay = version_++ - event.version;
    return 1.0 / (delay + 1);
  }

  int version_ = 0;
};

}  // namespace

std::vector<OptionSpec> dynsgd_options() {
  return {{.name = "staleness",
           .summary = "steps a worker may be ahead of the slowest; the default holds nobody",
           .default_value = std::int64_t{1'000'000'000},
           .minimum = 0}};
}

std::unique_ptr<ServerPolicy> make_dynsgd_server(const Setting& setting) {
  return std::make_unique<DynSgdServer>(setting.workers, setting.options.integer("staleness"));
}

}  // namespace tandem::sync
