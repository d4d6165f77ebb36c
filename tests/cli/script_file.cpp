// Writes a small TorchScript network to the given path, for tests that do not link libtorch: LeNet, or with a
// second argument `tanh` a smooth one.
#include "tests/workloads/learner/script_modules.hpp"

int main(int argc, char** argv) {
  const bool is_smooth = argc == 3 && std::string(argv[2]) == "tanh";
  if (argc != 2 && !is_smooth) return 2;
  is_smooth ? tandem::testing::save_tanh_network(argv[1]) : tandem::testing::save_lenet(argv[1]);
  return 0;
}
