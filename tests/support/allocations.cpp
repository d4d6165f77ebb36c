#include "tests/support/allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> calls{0};
std::atomic<long> bytes{0};
}  // namespace

void* operator new(std::size_t size) {
  ++calls;
  bytes += static_cast<long>(size);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++calls;
  bytes += static_cast<long>(size);
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tandem::testing {

long allocations() { return calls; }
long allocated_bytes() { return bytes; }

}  // namespace tandem::testing
