// Writes a small network as TorchScript to the path of its argument, for tests that do not know libtorch.
#include "tests/workloads/learner/script_modules.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tandem::testing::save_lenet(argv[1]);
  return 0;
}
