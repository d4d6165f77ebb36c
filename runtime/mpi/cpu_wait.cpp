#include "runtime/mpi/cpu_wait.hpp"

#include <cstdint>
#include <fstream>

namespace tandem {

std::optional<Seconds> cpu_wait() {
  std::ifstream file("/proc/self/schedstat");
  std::int64_t on_core_ns = 0;
  std::int64_t waiting_ns = 0;
  if (!(file >> on_core_ns >> waiting_ns)) return std::nullopt;
  return Seconds(static_cast<double>(waiting_ns) * 1e-9);
}

}  // namespace tandem
