/*
 * pinocchio_aba.cpp: Pinocchio's articulated-body algorithm called again and again, without Python between the calls.
 *
 * The trees are those of tests/spatial_trees.py: body i hangs from body (i - 1) / 2, on a hinge along x, y, z in turn or
 * on a ball joint. Compiled from Pinocchio's headers, so that it uses every instruction of this CPU as our kernels do.
 * Every call starts from another velocity, so that none is moved out of the loop.
 */
#include <pinocchio/algorithm/aba.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace {

pinocchio::Model tree(int bodies, bool balls, double mass, double length, double gravity, const double *moments)
{
    using Vector = Eigen::Vector3d;
    pinocchio::Model model;
    const Vector place(0.0, 0.0, -length);
    const Eigen::Matrix3d inertia = Vector(moments[0], moments[1], moments[2]).asDiagonal();
    const pinocchio::Inertia body(mass, place / 2.0, inertia);
    std::vector<pinocchio::JointIndex> joints;

    for (int i = 0; i < bodies; i++) {
        const pinocchio::JointIndex above = i == 0 ? 0 : joints[static_cast<std::size_t>((i - 1) / 2)];
        const pinocchio::SE3 at(Eigen::Matrix3d::Identity(), i == 0 ? Vector::Zero() : place);
        const std::string name = "b" + std::to_string(i);
        joints.push_back(balls        ? model.addJoint(above, pinocchio::JointModelSpherical(), at, name)
                         : i % 3 == 0 ? model.addJoint(above, pinocchio::JointModelRX(), at, name)
                         : i % 3 == 1 ? model.addJoint(above, pinocchio::JointModelRY(), at, name)
                                      : model.addJoint(above, pinocchio::JointModelRZ(), at, name));
        model.appendBodyToJoint(joints.back(), body, pinocchio::SE3::Identity());
    }
    model.gravity.linear() = Vector(0.0, 0.0, -gravity);
    return model;
}

} // namespace

struct Aba {
    pinocchio::Model model;
    pinocchio::Data data;
    explicit Aba(const pinocchio::Model &given) : model(given), data(given) {}
};

extern "C" {

Aba *aba_new(int bodies, int balls, double mass, double length, double gravity, const double *moments)
{
    return new Aba(tree(bodies, balls != 0, mass, length, gravity, moments));
}

void aba_free(Aba *aba) { delete aba; }

/* The accelerations at q, v, in Pinocchio's order, after so many calls; in the axes of space if `world`, else of bodies. */
void aba_calls(Aba *aba, std::int64_t calls, int world, const double *q, const double *v, double *out)
{
    const pinocchio::Model &model = aba->model;
    const auto convention = world != 0 ? pinocchio::Convention::WORLD : pinocchio::Convention::LOCAL;
    const Eigen::VectorXd at = Eigen::Map<const Eigen::VectorXd>(q, model.nq);
    const Eigen::VectorXd torques = Eigen::VectorXd::Zero(model.nv);
    Eigen::VectorXd moving = Eigen::Map<const Eigen::VectorXd>(v, model.nv);

    for (std::int64_t k = 0; k < calls; k++) {
        pinocchio::aba(model, aba->data, at, moving, torques, convention);
        moving[k % model.nv] = v[k % model.nv] + 1e-30 * aba->data.ddq[0];
    }
    Eigen::Map<Eigen::VectorXd>(out, model.nv) = aba->data.ddq;
}

} // extern "C"
