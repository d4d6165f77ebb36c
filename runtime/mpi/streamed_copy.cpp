#include "runtime/mpi/streamed_copy.hpp"

#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>

#include <algorithm>
#include <cstdint>
#endif

namespace tandem {

#ifdef __SSE2__

void streamed_copy(std::byte* to, const std::byte* from, std::size_t size) {
  constexpr std::size_t line = 64;
  // Only whole cache lines leave the write buffer immediately.
  const std::size_t before = std::min(size, (line - reinterpret_cast<std::uintptr_t>(to) % line) % line);
  std::memcpy(to, from, before);
  std::size_t done = before;
  for (; done + line <= size; done += line)
    for (std::size_t at = done; at < done + line; at += sizeof(__m128i))
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
  std::memcpy(to + done, from + done, size - done);
  // Such stores are in no order with others, not even with one of release order.
  _mm_sfence();
}

#else

void streamed_copy(std::byte* to, const std::byte* from, std::size_t size) { std::memcpy(to, from, size); }

#endif

}  // namespace tandem
