// Writes a small TorchScript network to the given path, for tests that do not link libtorch.
#include "tests/workloads/learner/script_modules.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tandem::testing::save_lenet(argv[1]);
  return 0;
}
