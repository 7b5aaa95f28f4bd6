// Workspaces of threads.
#pragma once

#include <memory>
#include <new>

#include "program.hpp"

namespace pkex {

struct AlignedDelete {
    void operator()(double* memory) const { ::operator delete(memory, std::align_val_t{64}); }
};

// The workspace of a thread. Unless it is large it is kept for the next call: fresh memory can cost
// a call with one row as much as its work.
class Memory {
public:
    double* take(Index doubles) {
        if (doubles > size_) {
            data_.reset();
            size_ = 0;
            const std::size_t bytes = sizeof(double) * std::size_t(doubles);
            data_.reset(static_cast<double*>(::operator new(bytes, std::align_val_t{64})));
            size_ = doubles;
        }
        return data_.get();
    }

    void give_back() {
        if (size_ <= kKept) return;
        data_.reset();
        size_ = 0;
    }

private:
#if defined(__SANITIZE_ADDRESS__)
    static constexpr Index kKept = 0;  // parts of it are marked as not to be touched
#else
    static constexpr Index kKept = 1 << 19;  // 4 MiB
#endif
    std::unique_ptr<double, AlignedDelete> data_;
    Index size_ = 0;
};

}  // namespace pkex
