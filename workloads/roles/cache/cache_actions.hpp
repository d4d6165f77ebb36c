// The actions of a cache node after an event: the decisions of its parts, in this order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "workloads/protocol.hpp"
#include "workloads/roles/cache/node_batch.hpp"
#include "workloads/roles/cache/sample_read.hpp"

namespace tandem {

/// A read from one of ReadPlaces, or a write into the tier on the disk.
struct BeginRead {
  std::size_t place = 0;
  SampleRead read = {};
};
/// A batch waits for the sample, which another cache node may have been asked for in advance.
struct HurryRead {
  SampleId id = 0;
};
/// The sample is in the tier on the disk now.
struct NoteInTier {
  SampleId id = 0;
};
struct RemoveFromTier {
  SampleId id = 0;
};
/// Ask which node holds the samples, or may keep them.
struct AskDirectory {
  std::vector<SampleId> ids = {};
};
struct NotifyDirectory {
  std::vector<SampleId> ids = {};
  protocol::NoteOf<"directory"> note;
};
struct SendBatch {
  NodeBatch batch = {};
};

using CacheAction =
    std::variant<BeginRead, HurryRead, NoteInTier, RemoveFromTier, AskDirectory, NotifyDirectory, SendBatch>;
using CacheActions = std::vector<CacheAction>;

}  // namespace tandem
