#include "policies/sync/asynchronous/ssp.hpp"

#include "policies/sync/common/bounded_server.hpp"

namespace tandem::sync {
namespace {

class SspServer : public BoundedServer {
 public:
  SspServer(int workers, std::int64_t staleness, double scale)
      : BoundedServer(workers, staleness), scale_(scale) {}

 private:
  double scale_of(const Push&) override { return scale_; }

  double scale_;
};

}  // namespace

std::vector<OptionSpec> ssp_options() {
  return {{.name = "staleness",
           .summary = "steps a worker may be ahead of the slowest and still start another",
           .default_value = std::int64_t{0},
           .minimum = 0},
          {.name = "average",
           .summary = "each push counts one part in as many as there are workers, as in ConSGD",
           .default_value = false}};
}

std::unique_ptr<ServerPolicy> make_ssp_server(const Setting& setting) {
  const double scale = setting.options.boolean("average") ? 1.0 / setting.workers : 1.0;
  return std::make_unique<SspServer>(setting.workers, setting.options.integer("staleness"), scale);
}

}  // namespace tandem::sync
