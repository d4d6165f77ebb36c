// The role under the simulated clock: ping_pong_simulated PLATFORM HOST HOST BYTES
#include <cstdlib>

#include "tests/examples/ping_pong.hpp"
#include "sim/simulation.hpp"

int main(int argc, char** argv) {
  using namespace tandem;
  TANDEM_CHECK(argc == 5, "expected PLATFORM HOST HOST BYTES");
  sim::SimulationSetting setting;
  setting.platform_file = argv[1];
  setting.hosts = {argv[2], argv[3]};
  setting.price = [](Rank, const Work&) { return Seconds(0); };  // this role computes nothing
  setting.body = [&](Context& context) { examples::ping_pong(context, Bytes(std::atoll(argv[4]))); };
  sim::simulate(setting);
}
