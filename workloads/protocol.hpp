// What roles say to each other: kinds of notes and the channels they travel on. Shared by the roles only.
#pragma once

#include <cstdint>

#include "workloads/context.hpp"

namespace tandem::protocol {

enum Kind : std::int32_t {
  push = 1,    ///< worker -> server: a push is complete; version, samples, local_steps, duration_s, and
               ///< value = the bits of the loss
  report,      ///< worker -> coordinator: may I go on? version, local_steps, duration_s
  leave,       ///< worker -> server: I am done
  reply,       ///< server -> worker: the model; version, samples = batch size, local_steps = of the next
               ///< rounds, value = stops and dropped together, all_samples = processed by all workers
  answer,      ///< coordinator -> worker: value = 1 ready, version = that of the report
  request,     ///< worker -> cache node: samples ids follow
  batch,       ///< cache node -> worker: the records
  checkpoint,  ///< -> evaluator: version = round, value = samples processed, duration_s = when it was taken
  end,         ///< nothing more will come
  call,        ///< active worker -> passive one: my model; give me yours, and let both be their mean
  stepped      ///< worker -> first worker: another step is done
};

/// In a reply: the job ends; the worker's last push counts for nothing.
inline constexpr std::int64_t stops = 1;
inline constexpr std::int64_t dropped = 2;

/// Worker -> server or coordinator. The note rides on the last piece of a push, so that its arrival ends the
/// push. A shard without any of the last bucket gets it alone; see ShardPieces.
inline constexpr Channel to_server{1, true};
/// Server -> worker. The note rides on the last piece of the model, which is sent first.
inline constexpr Channel from_server{2, true};
inline constexpr Channel answers{3, true};
inline constexpr Channel requests{4, true};
inline constexpr Channel batches{5, true};
inline constexpr Channel checkpoints{6, true};
/// Server shard -> first shard: its part of a checkpoint.
inline constexpr Channel checkpoint_parts{7, false};
/// A worker's model: -> every other member of an exchange, and in reply to a call.
inline constexpr Channel models{8, false};
inline constexpr Channel calls{9, true};
/// Worker -> first worker, which counts the steps of all; and back, once: no more steps.
inline constexpr Channel counts{10, true};
inline constexpr Channel ends{11, true};
/// Worker -> first worker: its model, when all have ended.
inline constexpr Channel last_models{12, false};
/// The other pieces of a push and of a reply, by bucket, of which one shard may hold several; and the
/// all-reduce of each bucket.
constexpr Channel push_bucket(int bucket) { return {1000 + bucket, false}; }
constexpr Channel reply_bucket(int bucket) { return {2000 + bucket, false}; }
constexpr Channel reduce_bucket(int bucket) { return {3000 + bucket, false}; }

}  // namespace tandem::protocol
