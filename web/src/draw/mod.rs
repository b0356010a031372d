//! The picture: layout and motion as plain data, painted on a canvas.
