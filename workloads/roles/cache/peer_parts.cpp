#include "workloads/roles/cache/peer_parts.hpp"

#include "workloads/protocol.hpp"

namespace tandem {

std::vector<std::size_t> ends_of_peer_parts(const cache::Manifest& manifest, std::span<const SampleId> ids) {
  std::vector<std::size_t> ends;
  std::size_t begin = 0;
  Bytes size{0};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Bytes own = manifest.size_of(ids[i]);
    if (i > begin && (size + own > most_of_peer_part || i - begin == protocol::Found::most)) {
      ends.push_back(i);
      begin = i;
      size = Bytes(0);
    }
    size += own;
  }
  ends.push_back(ids.size());
  return ends;
}

}  // namespace tandem
