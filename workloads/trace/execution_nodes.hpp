// The nodes of an execution trace of PyTorch (ExecutionTraceObserver, in 1.13 ExecutionGraphObserver):
// operators and shapes, without times. Schemas 1.0.1 to 1.1.1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/trace/job_description.hpp"

namespace tandem::trace {

struct ExecutionNode {
  enum class Kind : std::uint8_t { other, collective, gradient, forward, optimizer, backward };

  std::int64_t id = 0;
  std::int64_t parent = 0;
  Kind kind = Kind::other;
  CollectiveKind collective = CollectiveKind::unknown;
  std::string dtype;           ///< of the first input: "float"
  std::vector<Shape> tensors;  ///< of the first input, which may be a list of tensors
};

/// Receives the tokens within the list of nodes. Depth 1 is a node, 2 a list or an object in it.
class ExecutionNodes {
 public:
  /// Errors: ConfigError for more nodes or shapes than fit into memory, in which `file` is named.
  explicit ExecutionNodes(std::string file) : file_(std::move(file)) {}

  void begin(int depth);
  void end(int depth);
  void key(const std::string& key, int depth);
  void text(const std::string& value, int depth);
  void number(std::int64_t value, int depth);

  /// The job of the nodes read so far.
  JobDescription describe();

 private:
  enum class List : std::uint8_t { none, shapes, types };

  void finish_node();

  std::string file_;
  ExecutionNode node_;
  std::string name_;
  std::string key_, inner_key_;  ///< of the node, and of an object in it
  std::string attribute_;
  std::int64_t group_size_ = 0;  ///< of the node
  List list_ = List::none;
  int list_depth_ = 0;
  int argument_ = 0;  ///< of the list of shapes
  std::int64_t largest_group_ = 0;
  std::size_t tensors_ = 0;
  std::vector<ExecutionNode> nodes_;
};

}  // namespace tandem::trace
