// The interface of every compression: a stretch (a range of consecutive elements) of a gradient or of a
// model's change is encoded as a message, and a message is decoded to a stretch. Pure; random numbers are
// seeded. With error feedback, the sender keeps the compression error of a message and adds it to the next
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policies/collectives/element.hpp"
#include "policies/vocabulary/catalog.hpp"

namespace tandem::compression {

/// A tensor, row-major. Of a tensor that is cut: its whole rows, or the rest of a row.
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
  std::vector<Part> parts = {};  ///< in order; together they are the stretch
};

struct Setting {
  Stretch stretch;
  Options options;
  std::uint64_t seed = 1;
  int worker = 0;           ///< the sender; choices that all workers share do not depend on it
  bool is_gradient = true;  ///< false: the values are changes of a model, or what a server replies
};

/// The codec of one stretch of one worker. Random numbers depend on the seed, the position and the number of
/// the exchange; also on the worker if the workers may draw different numbers. Allocates at its first use,
/// not in its constructor.
class Codec {
 public:
  virtual ~Codec() = default;
  /// Length of every message, or of the longest one if lengths vary.
  virtual std::int64_t message_bytes() const = 0;
  /// Bytes at the start of a message that state its length; 0: lengths do not vary.
  virtual std::int64_t header_bytes() const { return 0; }
  /// The length of the message that begins so. Pre: at least its header.
  virtual std::int64_t bytes_of(std::span<const std::byte> /*header*/) const { return message_bytes(); }
  /// Length with modelled mathematics, which is an estimate if lengths vary.
  virtual std::int64_t expected_bytes() const { return message_bytes(); }
  /// `exchange`: a number of this exchange that sender and receivers know and that differs from those of the
  /// sender's other exchanges. If messages are added, all workers pass the same number. Pre: sizes are
  /// those of stretch and message.
  virtual void encode(std::span<const float> values, std::int64_t exchange, std::span<std::byte> message) = 0;
  /// Encodes values + unsent in one pass, and sets `unsent` to the compression error. Returns false, and
  /// changes nothing, if the codec does not support it. `memory`: the vectors of memory_vectors(), one after
  /// the other; the first is `unsent`. Pre: as encode; no vector overlaps another.
  virtual bool encode_with_memory(std::span<const float> /*values*/, std::span<float> /*memory*/,
                                  std::int64_t /*exchange*/, std::span<std::byte> /*message*/) {
    return false;
  }
  /// Vectors, as long as the stretch, that error feedback keeps between messages. A codec with more than one
  /// encodes with memory.
  virtual int memory_vectors() const { return 1; }
  /// `exchange`: the number with which the message was encoded. Pre: as encode. If lengths vary, `message` is
  /// as long as it is, or longer.
  virtual void decode(std::span<const std::byte> message, std::int64_t exchange, std::span<float> values) = 0;
  /// Adds what `decode` would return to `sum`. Returns false, and changes nothing, if the codec does not
  /// support it. It may leave elements out that decode to zero: no element of `sum` is -0. Pre: as decode.
  virtual bool add_decoded(std::span<const std::byte> /*message*/, std::int64_t /*exchange*/,
                           std::span<float> /*sum*/) {
    return false;
  }
  /// State that depends on the values so far, which a resumed job must restore; its size does not change. In
  /// the memory of the device that computes, or of the host.
  virtual std::span<float> learnt() { return {}; }
};

/// PowerSGD's two factors, computed by all workers together (Vogels et al. 2019, algorithm 1). `project`
/// makes the first message, which is summed over workers. After `orthonormalise`, `reproject` makes the
/// second message, which is summed, too. `expand` computes the sum of all workers' approximations from both.
/// For one stretch; the objects of all workers are in the same state.
class SharedFactors {
 public:
  virtual ~SharedFactors() = default;
  /// Floats of the first message: left factors, and parts that are sent uncompressed.
  virtual std::int64_t left_elements() const = 0;
  /// Floats of the second message: right factors.
  virtual std::int64_t right_elements() const = 0;
  virtual void project(std::span<const float> values, std::span<float> left) = 0;
  /// Makes the columns of the left factors orthonormal, in place; uncompressed parts stay as they are.
  virtual void orthonormalise(std::span<float> left) const = 0;
  /// Right factors of these values. Pre: `left` is orthonormal.
  virtual void reproject(std::span<const float> values, std::span<const float> left,
                         std::span<float> right) const = 0;
  virtual void expand(std::span<const float> left, std::span<const float> right,
                      std::span<float> values) const = 0;
  /// Copies the parts that are sent uncompressed.
  virtual void copy_plain(std::span<const float> from, std::span<float> to) const = 0;
  /// Sets the factors from which the next exchange starts.
  virtual void keep(std::span<const float> right) = 0;
  /// See Codec.
  virtual std::span<float> learnt() = 0;
};

/// How an all-reduce handles the messages.
enum class Sharing {
  gathered,  ///< messages cannot be added: every worker receives the messages of all
  summed,    ///< messages are added, element by element, and the sum decodes to the sum
  factored,  ///< two sums, one after the other (SharedFactors)
  none       ///< lengths of messages vary: they go to servers only
};

/// Cost per element of the stretch: an estimate for devices that were not measured.
struct Effort {
  double bytes = 0.0;  ///< of memory read or written
  double flops = 0.0;
  int kernels = 1;  ///< that a GPU starts in sequence, for any number of elements
};
struct Efforts {
  Effort compress;
  Effort decompress;
  std::optional<Effort> compress_on_gpu = {};  ///< where a GPU needs other passes than a processor
};

struct Factory {
  Sharing sharing;
  std::unique_ptr<Codec> (*make)(const Setting&);  ///< null: no compression
  Efforts (*efforts)(const Options&) = nullptr;
  int memory_vectors = 1;                                                    ///< see Codec
  const collectives::Element* element = nullptr;                             ///< for Sharing::summed
  std::unique_ptr<SharedFactors> (*make_factors)(const Setting&) = nullptr;  ///< for Sharing::factored
  bool is_exact = false;  ///< a message decodes to the same values
  /// The error of a message may be larger than its values. Where the error becomes part of what is sent next,
  /// errors would grow. Null: never.
  bool (*may_err_widely)(const Options&) = nullptr;
  /// With these options, messages have lengths of their own, as those of Sharing::none; null: never.
  bool (*lengths_vary)(const Options&) = nullptr;
};

const Catalog<Factory>& catalog();

/// Whether messages have lengths of their own.
bool have_lengths(const Factory& method, const Options& options);
/// Whether the error of a message is added to the next one; false for a method without that option.
bool has_error_feedback(const Options& options);
/// "top-k (error_feedback true, ratio 0.01)".
std::string describe(const std::string& method, const Options& options);

}  // namespace tandem::compression
