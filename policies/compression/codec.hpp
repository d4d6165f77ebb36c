// The shape of every compression: a stretch of a gradient or of a model's change becomes a message, and a
// message becomes a stretch again. Pure, and seeded where it draws; whoever sends keeps what a message lost
// (error_feedback.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "policies/collectives/element.hpp"
#include "policies/vocabulary/catalog.hpp"

namespace tandem::compression {

/// A tensor, or of one that is cut the whole rows, or what is left of a row: row-major.
struct Part {
  std::int64_t begin = 0;  ///< first element in the stretch
  std::int64_t rows = 1;
  std::int64_t columns = 0;
  std::int64_t size() const { return rows * columns; }
};

/// Consecutive elements that are compressed into one message.
struct Stretch {
  std::int64_t position = 0;  ///< of the first one in the model's flat layout
  std::int64_t elements = 0;
  std::vector<Part> parts = {};  ///< in order; they make up the stretch
};

struct Setting {
  Stretch stretch;
  Options options;
  std::uint64_t seed = 1;
  int worker = 0;  ///< who sends; what all workers choose alike does not depend on it
};

/// One stretch of one worker. What is drawn depends on seed, position and number of the exchange, and on the
/// worker where workers need not agree. Allocates at its first use, not when it is made.
class Codec {
 public:
  virtual ~Codec() = default;
  /// Length of every message.
  virtual std::int64_t message_bytes() const = 0;
  /// `exchange`: a number of this exchange that sender and receivers know, and the next one seldom has. Where
  /// messages are added up, all workers give the same. Pre: sizes are those of stretch and message.
  virtual void encode(std::span<const float> values, std::int64_t exchange, std::span<std::byte> message) = 0;
  /// Encodes values + unsent, in fewer passes than one after the other: `unsent` becomes what the message
  /// lost of that. False: it knows no such way, and nothing has happened. Pre: as encode; no vector overlaps
  /// another.
  virtual bool encode_with_memory(std::span<const float> /*values*/, std::span<float> /*unsent*/,
                                  std::int64_t /*exchange*/, std::span<std::byte> /*message*/) {
    return false;
  }
  /// `exchange`: the one that the message was encoded for. Pre: as encode.
  virtual void decode(std::span<const std::byte> message, std::int64_t exchange, std::span<float> values) = 0;
  /// What it has learnt from the values so far and needs to go on alike later: always as much.
  virtual std::span<float> learnt() { return {}; }
};

/// Both factors of PowerSGD as all workers find them together (Vogels et al. 2019, algorithm 1): the first
/// message is `project`ed and summed over workers; its `orthonormal` form gives the second, which is summed
/// too; `expand` makes the sum of what all sent of both. One stretch; every worker has one in the same state.
class SharedFactors {
 public:
  virtual ~SharedFactors() = default;
  /// Floats of the first message: left factors, and parts that are sent as they are.
  virtual std::int64_t left_elements() const = 0;
  /// Floats of the second message: right factors.
  virtual std::int64_t right_elements() const = 0;
  virtual void project(std::span<const float> values, std::span<float> left) = 0;
  /// Left factors with orthonormal columns, in place; the rest stays.
  virtual void orthonormalise(std::span<float> left) const = 0;
  /// Right factors of these values. Pre: `left` is orthonormal.
  virtual void reproject(std::span<const float> values, std::span<const float> left,
                         std::span<float> right) const = 0;
  virtual void expand(std::span<const float> left, std::span<const float> right,
                      std::span<float> values) const = 0;
  /// Of the parts that are sent as they are.
  virtual void copy_plain(std::span<const float> from, std::span<float> to) const = 0;
  /// The next exchange starts from these.
  virtual void keep(std::span<const float> right) = 0;
  /// See Codec.
  virtual std::span<float> learnt() = 0;
};

/// How an all-reduce takes it.
enum class Sharing {
  gathered,  ///< messages mean nothing when added: everybody gets everybody's
  summed,    ///< messages are added, element by element, and the sum decodes to the sum
  factored   ///< two sums, one after the other (SharedFactors)
};

/// What a message takes, for each element of the stretch: an estimate for devices that were not measured.
struct Effort {
  double bytes = 0.0;  ///< of memory that is read or written
  double flops = 0.0;
};
struct Efforts {
  Effort compress;
  Effort decompress;
};

struct Factory {
  Sharing sharing;
  std::unique_ptr<Codec> (*make)(const Setting&);  ///< null: nothing is compressed
  Efforts (*efforts)(const Options&) = nullptr;
  const collectives::Element* element = nullptr;                             ///< of Sharing::summed
  std::unique_ptr<SharedFactors> (*make_factors)(const Setting&) = nullptr;  ///< of Sharing::factored
};

const Catalog<Factory>& catalog();

/// Whether what a message lost is added to the next one. Of a method without that option: no.
bool has_error_feedback(const Options& options);
/// "top-k (error_feedback true, ratio 0.01)".
std::string describe(const std::string& method, const Options& options);

}  // namespace tandem::compression
