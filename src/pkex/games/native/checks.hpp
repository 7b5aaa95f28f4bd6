// What the Python module asks of its arguments.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "program.hpp"

namespace pkex {

inline void require(bool condition, const std::string& message) {
    if (!condition) throw std::invalid_argument(message);
}

template <class Array>
void require_aligned(const Array& array, const char* name) {
    require(reinterpret_cast<std::uintptr_t>(array.data()) % alignof(decltype(*array.data())) == 0,
            std::string(name) + " must be aligned.");
}

template <class Array>
void require_shape(const Array& array, const char* name, std::initializer_list<Index> shape) {
    bool fits = array.ndim() == shape.size();
    std::string text;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const Index wanted = shape.begin()[i];
        fits = fits && Index(array.shape(i)) == wanted;
        text += (i ? ", " : "") + std::to_string(wanted);
    }
    require(fits, std::string(name) + " must have the shape (" + text + ").");
    require_aligned(array, name);
}

template <class T, class Array>
std::vector<T> as_vector(const Array& array) {
    std::vector<T> result(array.shape(0));
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = T(array.data()[Index(i) * array.stride(0)]);
    return result;
}

}  // namespace pkex
