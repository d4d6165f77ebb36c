// Two binary trees, each for half of the vector, through which chunks go up as sums and down as results.
// Inner nodes of one tree are leaves of the other, so that every participant sends and receives all the time.
// Source: Sanders, Speck, Träff, Parallel Computing 35(12), 2009; unlike in the paper, each tree has its own
// root.
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "policies/collectives/building_blocks.hpp"
#include "policies/collectives/shapes.hpp"

namespace tandem::collectives {
namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);
constexpr int uncoloured = -1;

/// Between a participant and its parent in one of the trees.
struct Edge {
  int tree;
  int parent;
  int child;
  std::size_t sibling = none;  ///< the edge of the parent's other child
  std::size_t twin = none;     ///< the edge of the same child in the other tree
  int colour = uncoloured;     ///< parity of the rounds in which chunks pass
  int start = 0;               ///< the round in which the first chunk comes down
};

/// Edges from a root to the farthest leaf.
int height_of(int size) { return static_cast<int>(std::bit_width(static_cast<unsigned>(size))) - 1; }

/// In tree 0 participant i has place i; in tree 1 it has place i + 1, and the last one place 0. A tree is
/// balanced and in order: odd places are inner nodes, even places leaves.
class Trees {
 public:
  explicit Trees(int size) : size_(size) {
    for (const int tree : {0, 1}) grow(tree, 0, size, {});
    link_twins();
    for (std::size_t edge = 0; edge < edges_.size(); ++edge) colour_path_through(edge);
    set_starts();
    list_by_participant();
  }

  std::vector<Edge> edges_of(int self) const {
    std::vector<Edge> own;
    for (const std::size_t edge : edges_of_[static_cast<std::size_t>(self)]) own.push_back(edges_[edge]);
    return own;
  }

 private:
  /// Makes a tree of the places [begin, end) below `parent`, and returns the edge up from it.
  std::size_t grow(int tree, int begin, int end, std::optional<int> parent) {
    if (begin == end) return none;
    const int inner = (end - begin) / 2;
    const int place = inner == 0 ? begin : begin + 2 * (inner / 2) + 1;
    const int self = tree == 0 ? place : (place + size_ - 1) % size_;
    const std::size_t up = parent ? edges_.size() : none;
    if (parent) edges_.push_back({tree, *parent, self});
    if (inner == 0) return up;
    const std::size_t left = grow(tree, begin, place, self);
    const std::size_t right = grow(tree, place + 1, end, self);
    edges_[left].sibling = right;
    if (right != none) edges_[right].sibling = left;
    return up;
  }

  void link_twins() {
    std::vector<std::size_t> first(static_cast<std::size_t>(size_), none);
    for (std::size_t edge = 0; edge < edges_.size(); ++edge) {
      std::size_t& twin = first[static_cast<std::size_t>(edges_[edge].child)];
      if (twin != none) {
        edges_[edge].twin = twin;
        edges_[twin].twin = edge;
      }
      twin = edge;
    }
  }

  /// Siblings get different colours, so that their parent sends to one at a time. Twins get different
  /// colours, so that their child receives from one at a time. Following sibling, twin, sibling ... gives a
  /// path, or a circle of even length.
  void colour_path_through(std::size_t edge) {
    if (edges_[edge].colour != uncoloured) return;
    edges_[edge].colour = 0;
    colour_onwards(edge, &Edge::sibling, &Edge::twin);
    colour_onwards(edge, &Edge::twin, &Edge::sibling);
  }
  void colour_onwards(std::size_t edge, std::size_t Edge::*next, std::size_t Edge::*next_but_one) {
    for (std::size_t at = edges_[edge].*next; at != none && edges_[at].colour == uncoloured;
         at = edges_[edge].*next) {
      edges_[at].colour = 1 - edges_[edge].colour;
      edge = at;
      std::swap(next, next_but_one);
    }
  }

  /// Each edge passes the first chunk on in the first round of its colour after the chunk has arrived. In the
  /// list, an edge comes after that of its parent.
  void set_starts() {
    for (const int tree : {0, 1}) {
      std::vector<int> reached(static_cast<std::size_t>(size_), -1);
      for (Edge& edge : edges_) {
        if (edge.tree != tree) continue;
        const int earliest = reached[static_cast<std::size_t>(edge.parent)] + 1;
        edge.start = earliest + (earliest + edge.colour) % 2;
        reached[static_cast<std::size_t>(edge.child)] = edge.start;
      }
    }
  }

  void list_by_participant() {
    edges_of_.resize(static_cast<std::size_t>(size_));
    for (std::size_t edge = 0; edge < edges_.size(); ++edge) {
      edges_of_[static_cast<std::size_t>(edges_[edge].parent)].push_back(edge);
      edges_of_[static_cast<std::size_t>(edges_[edge].child)].push_back(edge);
    }
  }

  int size_;
  std::vector<Edge> edges_;                         ///< of tree 0, then of tree 1
  std::vector<std::vector<std::size_t>> edges_of_;  ///< by participant
};

/// Computes the rounds of one participant: first those towards the root (up), then those from the root
/// (down), which mirror the first.
class Climb {
 public:
  /// `last`: the last round down, counted from the first round down.
  Climb(int self, std::vector<Edge> edges, int last, int chunks, std::int64_t elements)
      : self_(self), last_(last), chunks_(chunks), edges_(std::move(edges)) {
    for (const int tree : {0, 1}) {
      const Piece half = part_of(elements, 2, tree);
      halves_.push_back({half.begin, Parts(half.size(), chunks)});
    }
  }

  void operator()(std::size_t number, Round& round) const {
    const int at = static_cast<int>(number);
    at <= last_ ? go_up(last_ - at, round) : go_down(at - last_ - 1, round);
  }

 private:
  struct Half {
    std::int64_t begin;
    Parts chunks;
  };

  void go_up(int time, Round& round) const {
    for (const Edge& edge : edges_)
      if (edge.child == self_)
        append(round, Transfer::Kind::send, edge.parent, chunk_at(time, edge));
      else
        append(round, Transfer::Kind::receive_and_reduce, edge.child, chunk_at(time, edge));
  }

  void go_down(int time, Round& round) const {
    for (const Edge& edge : edges_)
      if (edge.child != self_) append(round, Transfer::Kind::send, edge.child, chunk_at(time, edge));
    for (const Edge& edge : edges_)
      if (edge.child == self_) append(round, Transfer::Kind::receive, edge.parent, chunk_at(time, edge));
  }

  /// The part of the vector that passes an edge in round `time` down, and in the mirrored round up.
  Piece chunk_at(int time, const Edge& edge) const {
    const int since = time - edge.start;
    if (since < 0 || since % 2 != 0 || since / 2 >= chunks_) return {};
    const Half& half = halves_[static_cast<std::size_t>(edge.tree)];
    const Piece chunk = half.chunks[since / 2];
    return {half.begin + chunk.begin, half.begin + chunk.end};
  }

  int self_;
  int last_;
  int chunks_;
  std::vector<Edge> edges_;
  std::vector<Half> halves_;  ///< by tree
};

}  // namespace

int double_tree_chunks(int size, std::int64_t elements) {
  // Elements whose transfer takes about as long as a latency: 16 KiB of float32, between what Ethernet of 1
  // and of 10 Gbit/s asks for. The price is flat around the best number of chunks.
  constexpr double elements_a_latency = 4096.0;
  const int levels_to_fill = std::max(height_of(size) - 1, 0);
  const double best = std::sqrt(levels_to_fill * static_cast<double>(elements) / (2 * elements_a_latency));
  return std::max(1, static_cast<int>(std::lround(best)));
}

Schedule double_tree(int self, const Groups& groups, std::int64_t elements) {
  return double_trees(groups)(self, elements);
}

Schedules double_trees(const Groups& groups) {
  const int size = groups.participants();
  return [size, trees = std::make_shared<const Trees>(size)](int self, std::int64_t elements) {
    TANDEM_CHECK(0 <= self && self < size && elements >= 0, "self", self, "size", size, "elements", elements);
    const int chunks = double_tree_chunks(size, elements);
    // A level delays a chunk by two rounds at most, the first by one, and chunks follow each other every two
    // rounds.
    const int last = size == 1 ? -1 : 2 * (height_of(size) + chunks - 1) - 1;
    const auto rounds = 2 * static_cast<std::size_t>(last + 1);
    return Schedule{{rounds, Climb(self, trees->edges_of(self), last, chunks, elements)}};
  };
}

}  // namespace tandem::collectives
