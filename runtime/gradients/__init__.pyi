from .gradient import loss_gradient as loss_gradient
