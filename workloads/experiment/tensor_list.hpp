// The tensors of a model that is given by its sizes (workload.synthetic_tensors), as people write them: in a
// list, or one per line of a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

struct ListedTensor {
  struct Work {
    Flops forward;
    Flops backward;
  };
  Bytes size;                     ///< of its parameters in fp32: above 0, a multiple of 4
  std::string name = {};          ///< empty: none
  std::optional<Work> work = {};  ///< per sample; none: not stated
};

/// Reads "SIZE [NAME [FORWARD BACKWARD]]": a size (4MB), a name without spaces (-: none), and the work per
/// sample of both passes (20Mflop). Errors: ConfigError that begins with `place`.
ListedTensor parse_tensor(const std::string& text, const std::string& place);
/// The same for each; errors also name the number of the tensor.
std::vector<ListedTensor> parse_tensors(const std::vector<std::string>& texts, const std::string& place);
/// What parse_tensor reads back to the same tensor.
std::string to_text(const ListedTensor& tensor);
/// Whether the text is a tensor, not the path of a file: its first word is a size.
bool is_tensor_text(const std::string& text);

/// One tensor per line, in forward order, in the form of parse_tensor. # begins a comment; empty lines are
/// ignored. Errors: ConfigError naming file and line, or the file if it cannot be read or has no tensor.
std::vector<ListedTensor> read_tensor_file(const std::string& path);

/// Elements of all tensors. Errors: ConfigError that begins with `place` when they do not fit 64 bits in
/// bytes.
std::int64_t elements_of(const std::vector<ListedTensor>& tensors, const std::string& place);
/// The work of all tensors; none when no tensor states its own. A tensor that does not has none.
std::optional<ListedTensor::Work> work_of(const std::vector<ListedTensor>& tensors);

}  // namespace tandem
