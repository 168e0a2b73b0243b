//! One element: basis, cubature, geometry map and the equation at a point, generic over the number type.
